"""Firmware's side of DHCP, frame by frame, against a real server in a network of its own.

``unshare -rn python -m tests.unit.dhcp.dhcp_client '{"server": [ARGV], "device": "mw0", "address": "10.1.0.2/24"}'``
asks as several kinds of machines and prints what each was offered: null is no answer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import struct
import subprocess
import sys
import time
from typing import Any

TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
KNOWN, STRANGER = "52:54:00:1a:00:01", "52:54:00:1a:00:99"
ASKING: dict[str, tuple[str, int | None, bytes]] = {
    "uefi-pxe": (KNOWN, 7, b""),
    "uefi-pxe-9": (KNOWN, 9, b""),
    "uefi-http": (KNOWN, 16, b""),
    "ipxe": (KNOWN, 7, b"iPXE"),
    "bios": (KNOWN, 0, b""),
    "stranger": (STRANGER, 7, b""),
}
"""Who asks: MAC, client architecture (option 93), user class (option 77)."""


def main() -> None:
    """Make the network, start the server, ask, print."""
    told = json.loads(sys.argv[1])
    tap = open_tap(told["device"])
    for words in (
        f"addr add {told['address']} dev {told['device']}",
        f"link set {told['device']} up",
        "link set lo up",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    with subprocess.Popen(told["server"], stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr) as server:
        try:
            await_server(tap)
            sys.stdout.write(json.dumps({name: ask(tap, *who) for name, who in ASKING.items()}) + "\n")
        finally:
            server.terminate()


def open_tap(name: str) -> int:
    """A network device whose frames are read and written here, as a machine's port is."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP_NO_PI))
    return tap


def await_server(tap: int) -> None:
    """Return once a machine that is in the configuration gets an answer."""
    deadline = time.monotonic() + 15
    while ask(tap, KNOWN, 7, b"", wait_s=0.5) is None:
        assert time.monotonic() < deadline, "the DHCP server does not answer"


def ask(tap: int, mac: str, architecture: int | None, user_class: bytes, wait_s: float = 1.5) -> dict[str, Any] | None:
    """Send a DHCPDISCOVER and return the offer to it."""
    transaction = os.urandom(4)
    os.write(tap, discover(mac, architecture, user_class, transaction))
    deadline = time.monotonic() + wait_s
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([tap], [], [], left)[0]:
            break
        with contextlib.suppress(BlockingIOError):
            offer = read_offer(os.read(tap, 4096), transaction)
            if offer is not None:
                return offer
    return None


def discover(mac: str, architecture: int | None, user_class: bytes, transaction: bytes) -> bytes:
    """A whole Ethernet frame."""
    hardware = bytes.fromhex(mac.replace(":", ""))
    bootp = struct.pack("!BBBB4sHH", 1, 1, 6, 0, transaction, 0, 0x8000) + bytes(16)
    bootp += hardware + bytes(10 + 192) + b"\x63\x82\x53\x63"
    options = [(53, b"\x01"), (55, bytes([1, 3, 60, 66, 67]))]
    if architecture is not None:
        kind = b"HTTPClient" if architecture == 16 else b"PXEClient"
        vendor = kind + b":Arch:%05d:UNDI:003016" % architecture
        options += [(60, vendor), (93, struct.pack("!H", architecture)), (94, b"\x01\x03\x10")]
    if user_class:
        options.append((77, user_class))
    for number, value in options:
        bootp += bytes([number, len(value)]) + value
    bootp += b"\xff"
    udp = struct.pack("!HHHH", 68, 67, 8 + len(bootp), 0) + bootp
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes(4), b"\xff" * 4)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return b"\xff" * 6 + hardware + b"\x08\x00" + head + udp


def checksum(head: bytes) -> int:
    """That of an IPv4 header."""
    total: int = sum(struct.unpack("!10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def read_offer(frame: bytes, transaction: bytes) -> dict[str, Any] | None:
    """What a DHCPOFFER to this transaction says; None for any other frame."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return None
    bootp = frame[14 + (frame[14] & 0xF) * 4 + 8 :]
    if bootp[:1] != b"\x02" or bootp[4:8] != transaction:
        return None
    options, at = {}, 240
    while at < len(bootp) and bootp[at] != 255:
        if bootp[at] == 0:
            at += 1
            continue
        options[bootp[at]] = bootp[at + 2 : at + 2 + bootp[at + 1]]
        at += 2 + bootp[at + 1]
    file = options.get(67) or bootp[108:236]
    return {
        "address": ".".join(map(str, bootp[16:20])),
        "next_server": ".".join(map(str, bootp[20:24])),
        "file": file.rstrip(b"\0").decode(),
        "vendor_class": options.get(60, b"").decode(),
    }


if __name__ == "__main__":
    main()
