"""Facts about a server through its BMC (connector ``@redfish``). Each fact is GETs; nothing is changed by reading.

Every fact is None when the BMC does not answer. Values keep Redfish's words; ``uri`` names the resource that a change
is written to.
"""

from metalwright.facts.redfish.bios import BiosAttributes, BiosJobs, BiosRegistry
from metalwright.facts.redfish.bmc import (
    Accounts,
    EventLogs,
    FirmwareInventory,
    FirmwareUpdates,
    HttpsCertificate,
    Lockdown,
    Login,
    ManagerClock,
    ManagerNetwork,
    NetworkProtocol,
    RemoteSyslog,
    VirtualMedia,
)
from metalwright.facts.redfish.host import BootOptions, BootOverride, Drives, Power, System

__all__ = [
    "Accounts",
    "BiosAttributes",
    "BiosJobs",
    "BiosRegistry",
    "BootOptions",
    "BootOverride",
    "Drives",
    "EventLogs",
    "FirmwareInventory",
    "FirmwareUpdates",
    "HttpsCertificate",
    "Lockdown",
    "Login",
    "ManagerClock",
    "ManagerNetwork",
    "NetworkProtocol",
    "Power",
    "RemoteSyslog",
    "System",
    "VirtualMedia",
]
