"""Power of the host: from what the BMC offers, and proven. A 2xx is not a proof, and neither is a refusal."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Literal

from pyinfra import logger
from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import Power
from metalwright.operations.redfish.requests import (
    Commands,
    Proof,
    contained,
    expect,
    line,
    look,
    post,
    refuse,
    show_diff,
    unreadable,
)

SETTLE_S = 120.0
"""How long a power change may take to show; large servers need a minute and more. Host data ``power_settle_s``."""

ON = ("On", "PushPowerButton")
OFF = ("ForceOff", "PushPowerButton")
GRACEFUL = ("GracefulShutdown", "PushPowerButton")
RESET = ("ForceRestart", "PowerCycle")
UNSETTLED = {"PowerState": [None, "PoweringOn", "PoweringOff", "Unknown"]}
"""Power states that are on the way, or that say nothing: never taken for off."""

TOGGLES = ("PushPowerButton",)
"""Reset types that do the opposite when they are sent a second time."""

LOCKDOWN_HINT = "is the BMC in lockdown, or does another job hold the host? look with `metalwright sel`"


@operation()
@contained
def state(
    wanted: Literal["On", "Off"], grace_s: float | None = None, then: Literal["force", "fail"] = "force"
) -> Commands:
    """Bring the host to a power state and prove it.

    ``Off`` is a hard power-off. With ``grace_s`` the operating system is asked first and has so many seconds; then the
    power is taken away (``then="force"``) or the operation fails (``"fail"``). A transitional state is waited for, an
    unknown one is never taken for off.
    """
    seen = yield from settled()
    if seen is None:
        return
    if seen["state"] == wanted:
        host.noop(f"power is {wanted}")
        return
    if wanted == "On":
        yield from _turn(seen, "On", ON)
    else:
        yield from off_commands(seen, grace_s, then)


@operation(is_idempotent=False)
@contained
def reset(preferences: Sequence[str] = RESET) -> Commands:
    """Restart the host with the first reset type of ``preferences`` that the BMC offers; a host that is off is started.

    Where none is offered, or nothing would prove it, the power is taken away and given back.
    """
    seen = yield from settled()
    if seen is not None:
        yield from restart_commands(seen, preferences, is_shown=True)


@operation(is_idempotent=False)
@contained
def restart(grace_s: float | None = None, then: Literal["force", "fail"] = "fail") -> Commands:
    """Turn the host off as ``state`` does, then on: both ends are proven, which a graceful restart never is."""
    seen = yield from settled()
    if seen is None:
        return
    if seen["state"] == "On":
        show_diff([_CYCLE])
        yield from off_commands(seen, grace_s, then)
    yield from _turn(seen, "On", ON)


_CYCLE = line("power", "On", "Off, then On again")


def settled() -> Generator[StringCommand, None, dict[str, Any] | None]:
    """Wait for a settled power state and return the fact Power; None where nothing more may be done."""
    seen = look(Power)
    if seen is not None and seen["state"] in UNSETTLED["PowerState"]:
        yield expect(seen["uri"] or "@system", {}, unlike=UNSETTLED, within_s=settle_s())
        seen = look(Power)
    if seen is None or seen["state"] not in ("On", "Off"):
        yield unreadable("a settled power state")
        return None
    return dict(seen)


def off_commands(seen: dict[str, Any], grace_s: float | None, then: str) -> Commands:
    """Yield what turns a host off that is on."""
    if grace_s:
        reset_type = choose(seen["reset_types"], GRACEFUL)
        if reset_type is None and then == "fail":
            yield refuse(f"this BMC offers no graceful shutdown, only {', '.join(seen['reset_types'])}")
            return
        if reset_type is not None:
            is_last = then == "fail"
            show_diff([line("power", "On", f"Off ({reset_type}, {grace_s:g} s{'' if is_last else ', then ForceOff'})")])
            hint = "the operating system did not shut down; a hard power-off must be asked for" if is_last else None
            shown = Proof({"PowerState": "Off"}, {}, seen["uri"], grace_s, is_required=is_last, hint=hint)
            yield post(seen["reset_uri"] or "", {"ResetType": reset_type}, proof=shown)
            if is_last:
                return
            seen = look(Power) or {}
            if seen.get("state") == "Off":
                return
            host.log(f"still {seen.get('state')} after {grace_s:g} s: the power is taken away", logger.warning)
        yield from _turn(seen, "Off", OFF, is_shown=reset_type is None)
        return
    yield from _turn(seen, "Off", OFF)


def restart_commands(
    seen: dict[str, Any] | None, preferences: Sequence[str] = RESET, *, is_shown: bool = False
) -> Commands:
    """Yield what restarts a host in the power state ``seen`` (fact Power); ``is_shown`` where nothing else tells it."""
    if seen is None or seen["state"] not in ("On", "Off"):
        yield unreadable("a settled power state")
        return
    before = reset_evidence(seen)
    reset_type = choose(seen["reset_types"], preferences)
    if seen["state"] == "Off" or seen["reset_uri"] is None:
        yield from _turn(seen, "On", ON)
    elif reset_type is not None and before is not None:
        if is_shown:
            show_diff([line("power", "On", f"On ({reset_type})")])
        proof = Proof({"PowerState": "On"}, before, seen["uri"], settle_s(), hint=LOCKDOWN_HINT)
        yield post(seen["reset_uri"], {"ResetType": reset_type}, proof=proof)
    else:
        show_diff([_CYCLE] if is_shown else [])
        yield from _turn(seen, "Off", OFF)
        yield from _turn(seen, "On", ON)


def _turn(seen: dict[str, Any], wanted: str, preferences: Sequence[str], *, is_shown: bool = True) -> Commands:
    """Yield one power change with its proof; without effect it is tried once more, unless it toggles."""
    reset_type = choose(seen.get("reset_types"), preferences)
    if reset_type is None or seen.get("reset_uri") is None:
        yield refuse(f"this BMC cannot turn power {wanted}: it offers {seen.get('reset_types') or 'no reset action'}")
        return
    if is_shown:
        show_diff([line("power", "Off" if wanted == "On" else "On", f"{wanted} ({reset_type})")])
    tries = 1 if reset_type in TOGGLES else 2
    proof = Proof({"PowerState": wanted}, {}, seen["uri"], settle_s(), tries, hint=LOCKDOWN_HINT)
    yield post(seen["reset_uri"], {"ResetType": reset_type}, proof=proof)


def reset_evidence(seen: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a reset surely changes on this BMC, as it is now: the time of the last one; None without."""
    for value, evidence in (
        (seen.get("last_reset"), {"LastResetTime": seen.get("last_reset")}),
        (seen.get("boot_state_at"), {"BootProgress": {"LastStateTime": seen.get("boot_state_at")}}),
    ):
        if isinstance(value, str) and value[:4].isdigit() and int(value[:4]) >= FIRST_YEAR:
            return evidence
    return None


FIRST_YEAR = 2000
"""Times before it come from BMCs that do not know the time, and that may not count it either."""


def settle_s() -> float:
    """Return the seconds that a power change may take: host data ``power_settle_s``, or the default."""
    return float(host.data.get("power_settle_s") or SETTLE_S)


def choose(allowed: Sequence[str] | None, preferences: Sequence[str]) -> str | None:
    """Return the first preference that is allowed; the first one where the BMC lists nothing."""
    if not allowed:
        return preferences[0]
    return next((item for item in preferences if item in allowed), None)
