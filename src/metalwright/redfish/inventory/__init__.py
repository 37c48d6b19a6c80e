"""The inventory reader: what a BMC says is in a machine, as :class:`metalwright.model.report.HardwareReport`.

It is written over one method, ``async get(path)``, and so runs over a live BMC or over a captured tree.
"""

from metalwright.redfish.inventory.reader import CapturedTree, Reader
from metalwright.redfish.inventory.report import ALL_PARTS, Part, read_identities, read_reports

__all__ = ["ALL_PARTS", "CapturedTree", "Part", "Reader", "read_identities", "read_reports"]
