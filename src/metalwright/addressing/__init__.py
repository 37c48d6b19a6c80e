"""Networks × nodes × the lock of today → the lock of tomorrow. Pure: no file, no clock, no network."""

from metalwright.addressing.allocation import Allocated, allocate
from metalwright.addressing.boot_dhcp import BootNetwork, boot_network
from metalwright.addressing.dhcp import DhcpNetwork, dhcp_network
from metalwright.addressing.explanation import Explanation, explain, hosts_file
from metalwright.addressing.needs import Need, needs_of, purposes_of

__all__ = [
    "Allocated",
    "BootNetwork",
    "DhcpNetwork",
    "Explanation",
    "Need",
    "allocate",
    "boot_network",
    "dhcp_network",
    "explain",
    "hosts_file",
    "needs_of",
    "purposes_of",
]
