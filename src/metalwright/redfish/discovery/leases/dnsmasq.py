"""dnsmasq: ``EXPIRY MAC ADDRESS HOSTNAME CLIENT-ID`` a line; after a ``duid`` line the IPv6 ones, without MAC."""

from __future__ import annotations

import re

from metalwright.redfish.discovery.leases.lease import Lease, LeaseFile, address_of, mac_of, moment_of, numbered

_LINE = re.compile(r"^\d+ \S+ [0-9a-fA-F.:]+ \S+( \S+)?$")
_HARDWARE_TYPE = re.compile(r"^[0-9a-fA-F]{2}-(?=[0-9a-fA-F]{2}:)")
"""Other hardware than Ethernet has its ARP type in front: ``06-``."""


def read_dnsmasq(text: str) -> LeaseFile | None:
    """A ``dnsmasq.leases``; ``None`` if the text is something else."""
    lines = numbered(text.splitlines())
    records = [(number, line) for number, line in lines if not line.startswith("duid ")]
    if not any(_LINE.match(line) for _, line in records[:3]) or any(line[:1].isalpha() for _, line in records):
        return None
    entries: list[Lease] = []
    bad: list[str] = []
    for number, line in records:
        try:
            entries.append(_of_line(line))
        except ValueError as error:
            bad.append(f"line {number}: {error}")
    return LeaseFile("dnsmasq lease file", tuple(entries), tuple(bad))


def _of_line(line: str) -> Lease:
    words = line.split()
    if len(words) < 4:
        raise ValueError(f"{len(words)} words, expected EXPIRY MAC ADDRESS HOSTNAME CLIENT-ID")
    expiry_s = int(words[0])
    return Lease(
        address=address_of(words[2]),
        mac=mac_of(_HARDWARE_TYPE.sub("", words[1])) if ":" in words[1] else None,
        hostname=None if words[3] == "*" else words[3],
        expires=moment_of(expiry_s) if expiry_s else None,
    )
