"""The boot override: what the host starts from next."""

from __future__ import annotations

from typing import Any, Literal

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import BootOverride
from metalwright.operations.redfish.requests import (
    Commands,
    contained,
    expect,
    line,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)


@operation()
@contained
def override(wanted: Literal["virtual-cd", "disk", "none"]) -> Commands:
    """Start once from the virtual CD or from the disk, or as the boot order says (``none``).

    Which Redfish target means the virtual CD differs from BMC to BMC; the BMC's list and what is known about its
    kind decide. The mode is set to UEFI where it is another.
    """
    seen = look(BootOverride)
    if seen is None:
        yield unreadable("its boot override")
        return
    if wanted == "none":
        yield from _clear(seen)
        return
    targets = seen["behaviour"]["virtual_cd_targets"] if wanted == "virtual-cd" else ["Hdd"]
    target = next((item for item in targets if seen["allowed"] is None or item in seen["allowed"]), None)
    if target is None:
        yield refuse(f"this BMC offers no boot from {wanted}: it allows {', '.join(seen['allowed'] or [])}")
        return
    if seen["target"] == target and seen["enabled"] == "Once" and seen["mode"] in ("UEFI", None):
        host.noop(f"the next boot is from {target}")
        return
    boot = {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}
    read_back = dict(boot)
    if seen["behaviour"]["is_boot_mode_sent"] and seen["mode"] not in ("UEFI", None):
        boot["BootSourceOverrideMode"] = "UEFI"
    show_diff(
        [line("boot target", seen["target"], target), line("boot override", seen["enabled"], "Once")]
        + ([line("boot mode", seen["mode"], "UEFI")] if "BootSourceOverrideMode" in boot else [])
    )
    yield patch(seen["uri"], {"Boot": boot})
    yield expect(seen["uri"], {"Boot": read_back}, within_s=10)


def _clear(seen: dict[str, Any]) -> Commands:
    if seen["enabled"] in ("Disabled", None):
        host.noop("no boot override is set")
        return
    show_diff([line("boot override", f"{seen['enabled']} {seen['target']}", "Disabled")])
    boot = {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
    yield patch(seen["uri"], {"Boot": boot})
    yield expect(seen["uri"], {"Boot": {"BootSourceOverrideEnabled": "Disabled"}}, within_s=10)
