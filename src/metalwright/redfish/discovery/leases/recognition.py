"""Which program wrote a lease file is seen in its text, not in its name."""

from __future__ import annotations

from metalwright.redfish.discovery.leases.dhcpd import read_dhcpd
from metalwright.redfish.discovery.leases.dnsmasq import read_dnsmasq
from metalwright.redfish.discovery.leases.kea import read_control_output, read_memfile
from metalwright.redfish.discovery.leases.lease import LeaseFile

KINDS = "Kea (lease file or answer of its lease commands), dnsmasq or ISC dhcpd"


def read_leases(text: str) -> LeaseFile | None:
    """The leases in a text, whichever of :data:`KINDS` wrote it; ``None`` if none of them did."""
    for read in (read_memfile, read_control_output, read_dhcpd, read_dnsmasq):
        found = read(text)
        if found is not None:
            return found
    return None
