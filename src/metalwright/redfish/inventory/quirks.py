"""What single vendors do against the letter of Redfish, each in one place with the evidence for it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from metalwright.redfish.inventory.resource import Resource

_VIRTUAL_MEDIA = re.compile(r"\bvirtual\s*(cd-?rom|hdisk|floppy|media|disk|hd|dvd)\b|american megatre", re.IGNORECASE)
_BACKPLANE = re.compile(r"backplane|enclosure|expander", re.IGNORECASE)
_DUMMY_PSU = re.compile(r"^PWS-DF\d", re.IGNORECASE)
_BMC_LINK = re.compile(r"^(to[-_ ]?(manager|host|bmc)|usb\d*|rndis\d*|tmfifo.*|hostusb.*)$", re.IGNORECASE)
_USB_NAME = re.compile(r"^enx[0-9a-f]{12}$", re.IGNORECASE)
"""What Linux calls a USB network device; with a made-up MAC it is the BMC's (canonical/cloud-init #3892)."""
_SIMULATED = re.compile(r"\s*--\s*SIMULATED$")
_NVSWITCH = re.compile(r"nvswitch", re.IGNORECASE)
_GPU_CHASSIS = re.compile(r"(?<![a-z])(gpu|hgx|baseboard)", re.IGNORECASE)
_SETTINGS_TWIN = re.compile(r"^(settings|sd|pending)$", re.IGNORECASE)


def is_virtual_media(*texts: str | None) -> bool:
    """AMI BMCs list their own USB virtual media as drives of the host (DGX H100: five *American Megatreds* devices)."""
    return any(text is not None and _VIRTUAL_MEDIA.search(text) for text in texts)


def is_backplane(*texts: str | None) -> bool:
    """iDRAC lists the drive backplane as a device of SimpleStorage (R750: *PCIe SSD Backplane 1*, no capacity)."""
    return any(text is not None and _BACKPLANE.search(text) for text in texts)


def is_dummy_power_supply(model: str | None) -> bool:
    """Supermicro fills empty bays with dummies that answer as enabled supplies (SYS-821GE: two PWS-DF009-2F)."""
    return model is not None and _DUMMY_PSU.match(model) is not None


def is_bmc_link(interface: Resource) -> bool:
    """The USB network link between host and BMC appears among the host's NICs (ToManager; random MAC on each boot)."""
    if interface.link("Links", "HostInterface") is not None:
        return True
    names = (interface.id, interface.text("Name") or "")
    return any(_BMC_LINK.match(name) or (_USB_NAME.match(name) and _is_made_up(interface)) for name in names)


def _is_made_up(interface: Resource) -> bool:
    """Whether the MAC has the bit of addresses that no maker gave."""
    mac = interface.mac("PermanentMACAddress") or interface.mac("MACAddress")
    return mac is not None and bool(int(mac[:2], 16) & 0x02)


def model_as_sold(model: str | None) -> str | None:
    """HPE's emulator and its captures append ``-- SIMULATED`` to the model (DL380a Gen11, DL360 Gen12)."""
    return _SIMULATED.sub("", model) or None if model is not None else None


def is_settings_twin(uri: str) -> bool:
    """AMI, iDRAC and iLO serve the pending settings of a port or function beside it, with the same MAC."""
    return _SETTINGS_TWIN.match(uri.rstrip("/").rpartition("/")[2]) is not None


def is_not_running_firmware(item: str) -> bool:
    """iDRAC lists roll-back and staged versions among the installed ones (``Previous-…``, ``Available-…``)."""
    return item.startswith(("Previous-", "Available-"))


def is_tray_of_switches(chassis_ids: Collection[str]) -> bool:
    """Whether the chassis of a BMC are those of an NVLink switch tray, and of no GPU that the switches would serve.

    The tray of a GB200 rack (model N5110_LD) has ``MGX_NVSwitch_0``, ``MGX_NVSwitch_1`` and no GPU; off, its
    ``System_0`` says no more than a host that is off. An HGX server has ``HGX_NVSwitch_0`` beside ``HGX_GPU_SXM_1`` or
    its baseboard (DGX H100).
    """
    return any(map(_NVSWITCH.search, chassis_ids)) and not any(map(_GPU_CHASSIS.search, chassis_ids))


HPE_DEVICES = ("Oem", "Hpe", "Links", "Devices")
"""iLO 5 leaves PCIeDevices empty and lists cards only in its own device collection (Apollo 6500: 8 × A100)."""

HPE_ADAPTERS = ("Oem", "Hpe", "Links", "NetworkAdapters")
"""iLO 5 keeps NIC names, firmware and ports in BaseNetworkAdapters when NetworkAdapters is empty (XL675d)."""
