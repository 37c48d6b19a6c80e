"""SSDP: BMCs that announce their Redfish service answer a search on the local network.

An answer proves nothing: the sender's address is where to look, and a URL that points elsewhere is told, not followed.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import netaddr

from metalwright.errors import UsageError
from metalwright.redfish.places import Place

GROUP = "239.255.255.250"
PORT = 1900
SEARCH_TARGET = "urn:dmtf-org:service:redfish-rest:1"
_SEARCH_TARGET = re.compile(r"^urn:dmtf-org:service:redfish-rest:1(:\d+)?$")
_MAX_WAIT_S = 3


@dataclass(frozen=True)
class SsdpAnswer:
    """One answer: where to look, and what is odd about it."""

    place: Place
    oddity: str | None = None


def parse_answer(datagram: bytes, sender: str, default_port: int = 443) -> SsdpAnswer | None:
    """The service behind an answer from the address ``sender``; ``None`` for what is no answer of a Redfish service.

    ``AL`` may be a whole URL or a path only; the host is always the sender's. A minor version in ``ST`` is accepted.
    """
    try:
        status, *lines = datagram.decode("utf-8").splitlines()
    except (UnicodeDecodeError, ValueError):
        return None
    headers = {name.strip().upper(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    if not status.upper().startswith("HTTP/1.1 200") or not _SEARCH_TARGET.match(headers.get("ST", "")):
        return None
    location = headers.get("AL") or headers.get("LOCATION") or ""
    try:
        link = urlsplit(location)
        host, port = link.hostname, link.port
    except ValueError:
        return None
    if host is None:
        return SsdpAnswer(Place(sender, default_port)) if location.startswith("/") else None
    is_plain = link.scheme == "http"
    oddities = [f"it names another host, {host}"] if not _is_same(host, sender) else []
    oddities += ["it names http, which is not used"] if is_plain else []
    place = Place(sender, default_port if is_plain or port is None else port)
    return SsdpAnswer(place, "; ".join(oddities) or None)


def _is_same(host: str, sender: str) -> bool:
    try:
        return bool(netaddr.IPAddress(host.partition("%")[0]) == netaddr.IPAddress(sender.partition("%")[0]))
    except (netaddr.AddrFormatError, ValueError):
        return True  # a name: nothing can be said without asking a name server, and the sender is asked anyway


async def search(group: str = GROUP, port: int = PORT, wait_s: float = _MAX_WAIT_S) -> list[SsdpAnswer]:
    """Ask ``group`` (a multicast address, ``ff02::c%eth0`` for IPv6, or one host) and collect what answers in time.

    Raises:
        UsageError: the search cannot be sent from this machine.
    """
    answers: dict[Place, SsdpAnswer] = {}

    def take(datagram: bytes, sender: str) -> None:
        answer = parse_answer(datagram, sender)
        if answer is not None:
            answers.setdefault(answer.place, answer)

    host = f"[{group.partition('%')[0]}]" if ":" in group else group
    question = (
        f'M-SEARCH * HTTP/1.1\r\nHOST: {host}:{port}\r\nMAN: "ssdp:discover"\r\nMX: {_MAX_WAIT_S}\r\n'
        f"ST: {SEARCH_TARGET}\r\n\r\n"
    ).encode()
    loop = asyncio.get_running_loop()
    try:
        destination = socket.getaddrinfo(group, port, type=socket.SOCK_DGRAM)[0]
        transport, _ = await loop.create_datagram_endpoint(lambda: _Listener(take), family=destination[0])
        transport.sendto(question, destination[4])
    except OSError as error:
        raise UsageError("the SSDP search cannot be sent", where=group, found=str(error)) from error
    try:
        await asyncio.sleep(wait_s)
    finally:
        transport.close()
    return list(answers.values())


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, take: Callable[[bytes, str], None]) -> None:
        self._take = take

    def datagram_received(self, data: bytes, addr: tuple[str, int] | tuple[str, int, int, int]) -> None:
        scope = f"%{addr[3]}" if len(addr) == 4 and addr[3] and "%" not in addr[0] else ""
        self._take(data, f"{addr[0]}{scope}")
