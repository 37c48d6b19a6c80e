"""The inventory reader: what a BMC says is in a machine, as :class:`metalwright.model.report.HardwareReport`.

It is written over one method, ``async get(path)``, and so runs over a live BMC or over a captured tree.
"""

from metalwright.redfish.inventory.equipment import Hostless
from metalwright.redfish.inventory.reader import CapturedTree, Reader
from metalwright.redfish.inventory.report import ALL_PARTS, Found, Part, read_found, read_identities, read_reports

__all__ = [
    "ALL_PARTS",
    "CapturedTree",
    "Found",
    "Hostless",
    "Part",
    "Reader",
    "read_found",
    "read_identities",
    "read_reports",
]
