"""What the host starts from next: the boot override and the boot order, written and read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pyinfra import logger
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import BootOptions, BootOverride
from metalwright.operations.redfish.boot_choice import Choice, choose_target, find_problems, repaired_order
from metalwright.operations.redfish.requests import (
    Commands,
    Proof,
    contained,
    line,
    look,
    patch,
    refuse,
    show_diff,
    unreadable,
)

SHELLS = ("EFI Shell", "EFI Internal Shell")
"""Entries of a boot order that end the boot in a prompt; their names are searched for these words."""

SETTLE_S = 10.0
"""How long a boot setting may take to show."""


@operation()
@contained
def override(wanted: Literal["virtual-cd", "disk", "pxe", "none"], is_persistent: bool = False) -> Commands:
    """Start once from the virtual CD, the disk or the network, or as the boot order says (``none``).

    Which Redfish target means the virtual CD differs from BMC to BMC; the BMC's list, what is known about its kind and
    what its platform was seen to boot decide; where no target fits, the boot option of the medium itself is next. The
    mode is set to UEFI where it is another. ``is_persistent``: until it is cleared, at BMCs that can; else once.
    """
    seen = look(BootOverride)
    if seen is None:
        yield unreadable("its boot override")
        return
    if wanted == "none":
        yield from _clear(seen)
        return
    choice = choose_target(seen, wanted)
    if choice is None:
        options = look(BootOptions)
        choice = choose_target(seen, wanted, options["options"] if options else [])
    if choice is None:
        yield refuse(f"this BMC offers no boot from {wanted}: it allows {', '.join(seen['allowed'] or [])}")
        return
    yield from _set(seen, choice, _duration(seen, is_persistent))


def _duration(seen: dict[str, Any], is_persistent: bool) -> str:
    if not is_persistent:
        return "Once"
    allowed = seen["allowed_enabled"]
    if allowed is not None and "Continuous" not in allowed:
        host.log(f"this BMC keeps no boot override (it allows {', '.join(allowed)}): it is set once", logger.warning)
        return "Once"
    return "Continuous"


def _set(seen: dict[str, Any], choice: Choice, enabled: str) -> Commands:
    """Yield the override with its read-back: target, duration, and the mode where it was changed.

    The duration is always sent: an override without it is accepted and ignored by some (metal-operator PR 985).
    """
    boot: dict[str, Any] = {
        "BootSourceOverrideTarget": choice.target,
        "BootSourceOverrideEnabled": enabled,
        **choice.details,
    }
    is_mode_wrong = seen["mode"] not in ("UEFI", None)
    if (seen["target"], seen["enabled"]) == (choice.target, enabled) and not is_mode_wrong and not choice.details:
        host.noop(f"the next boot is from {choice.target}")
        return
    if seen["behaviour"]["is_boot_mode_sent"] and is_mode_wrong:
        boot["BootSourceOverrideMode"] = "UEFI"
    show_diff(
        [line("boot target", seen["target"], choice.target), line("boot override", seen["enabled"], enabled)]
        + [line(name, None, value) for name, value in choice.details.items()]
        + ([line("boot mode", seen["mode"], "UEFI")] if "BootSourceOverrideMode" in boot else [])
    )
    yield patch(seen["uri"], {"Boot": boot}, proof=Proof({"Boot": boot}, within_s=SETTLE_S, hint=_MODE_HINT))


_MODE_HINT = "the BMC does not keep this override; is the boot mode of the BIOS UEFI, and is the BMC in lockdown?"


def _clear(seen: dict[str, Any]) -> Commands:
    if seen["enabled"] in ("Disabled", None):
        host.noop("no boot override is set")
        return
    show_diff([line("boot override", f"{seen['enabled']} {seen['target']}", "Disabled")])
    boot = {"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
    cleared = Proof({"Boot": {"BootSourceOverrideEnabled": "Disabled"}}, within_s=SETTLE_S, hint=_MODE_HINT)
    yield patch(seen["uri"], {"Boot": boot}, proof=cleared)


@operation()
@contained
def order(forbidden: Sequence[str] = SHELLS, is_repaired: bool = True) -> Commands:
    """Have no forbidden entry before the disk, and the disk's entry enabled, in the persistent boot order.

    With ``is_repaired`` false what is wrong is only told. A BMC that shows no boot order is left alone.
    """
    seen = look(BootOptions)
    if seen is None:
        yield unreadable("its boot order")
        return
    problems = find_problems(seen, forbidden)
    for problem in problems:
        host.log(f"boot order: {problem}", logger.warning)
    if not problems or not is_repaired:
        host.noop("the boot order is as wanted" if not problems else "the boot order is told, not changed")
        return
    wanted = repaired_order(seen, forbidden)
    disabled = [option for option in seen["options"] if option["is_enabled"] is False and option["alias"] == "Hdd"]
    show_diff(
        [line(f"boot option {option['reference']} ({option['name']})", "disabled", "enabled") for option in disabled]
        + ([line("boot order", ", ".join(seen["order"]), ", ".join(wanted))] if wanted != seen["order"] else [])
    )
    for option in disabled:
        enabled = {"BootOptionEnabled": True}
        yield patch(option["uri"], enabled, proof=Proof(enabled, within_s=SETTLE_S))
    if wanted != seen["order"]:
        body = {"Boot": {"BootOrder": wanted}}
        yield patch(seen["uri"], body, proof=Proof(body, within_s=SETTLE_S))
