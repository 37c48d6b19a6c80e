"""DHCP lease files, so that a sweep asks the addresses that were given away instead of a whole prefix. Pure."""

from metalwright.redfish.discovery.leases.lease import Lease, LeaseFile
from metalwright.redfish.discovery.leases.recognition import read_leases

__all__ = ["Lease", "LeaseFile", "read_leases"]
