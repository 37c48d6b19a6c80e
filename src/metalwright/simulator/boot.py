"""Which devices the firmware tries, in which order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.simulator.state import BootOverride

CD = "cd"
HTTP = "http"
PXE = "pxe"
DISK_PREFIX = "disk:"
_CD_TARGETS = ("Cd", "UsbCd", "Usb")
_NETWORK = {"UefiHttp": (HTTP,), "Pxe": (PXE,)}


def disk_device(serial: str) -> str:
    """The boot device name of the disk with this serial."""
    return f"{DISK_PREFIX}{serial}"


@dataclass(frozen=True)
class BootPlan:
    """``devices`` in the order in which they are tried; ``consumes_override`` when a one-time override was used."""

    devices: tuple[str, ...]
    consumes_override: bool


def plan_boot(override: BootOverride, boot_order: Sequence[str]) -> BootPlan:
    """Put the overridden device class first, keep the rest of the persistent order behind it."""
    order = tuple(boot_order)
    if override.enabled == "Disabled" or override.target == "None":
        return BootPlan(order, consumes_override=False)
    first = _NETWORK.get(override.target) or tuple(device for device in order if _matches(override.target, device))
    rest = tuple(device for device in order if device not in first)
    return BootPlan(first + rest, consumes_override=override.enabled == "Once")


def _matches(target: str, device: str) -> bool:
    return (target in _CD_TARGETS and device == CD) or (target == "Hdd" and device.startswith(DISK_PREFIX))
