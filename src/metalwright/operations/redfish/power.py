"""Power of the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import Power
from metalwright.operations.redfish.requests import (
    Commands,
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
"""How long a power change may take to show; large servers need a minute and more."""

ON = ("On", "PushPowerButton")
OFF = ("ForceOff", "PushPowerButton")
RESET = ("ForceRestart", "PowerCycle")


@operation()
@contained
def state(wanted: Literal["On", "Off"]) -> Commands:
    """Bring the host to a power state; ``Off`` is a hard power-off.

    A transitional state is waited for, an unknown one is never taken for off.
    """
    seen = look(Power)
    if seen is None or seen["state"] is None:
        yield unreadable("the power state")
        return
    if seen["state"] == wanted:
        host.noop(f"power is {wanted}")
        return
    show_diff([line("power", seen["state"], wanted)])
    if seen["state"] != f"Powering{wanted}":
        reset_type = choose(seen["reset_types"], ON if wanted == "On" else OFF)
        if reset_type is None or seen["reset_uri"] is None:
            yield refuse(f"this BMC cannot turn power {wanted}: it offers {seen['reset_types'] or 'no reset action'}")
            return
        yield post(seen["reset_uri"], {"ResetType": reset_type}, is_unproven=True)
    yield expect(seen["uri"], {"PowerState": wanted}, within_s=SETTLE_S)


@operation(is_idempotent=False)
@contained
def reset(preferences: Sequence[str] = RESET) -> Commands:
    """Restart the host with the first reset type of ``preferences`` that the BMC offers; a host that is off is started.

    Where none is offered, the power is taken away and given back.
    """
    yield from restart_commands(look(Power), preferences)


def restart_commands(seen: dict[str, Any] | None, preferences: Sequence[str] = RESET) -> Commands:
    """Yield what restarts a host in the power state ``seen`` (fact Power)."""
    if seen is None or seen["state"] not in ("On", "Off"):
        yield unreadable("a settled power state")
        return
    if seen["reset_uri"] is None:
        yield refuse("this BMC offers no reset action")
        return
    on = {"ResetType": choose(seen["reset_types"], ON) or "On"}
    reset_type = choose(seen["reset_types"], preferences)
    if seen["state"] == "Off":
        yield post(seen["reset_uri"], on, is_unproven=True)
    elif reset_type is not None:
        yield post(seen["reset_uri"], {"ResetType": reset_type})
    else:
        yield post(seen["reset_uri"], {"ResetType": "ForceOff"}, is_unproven=True)
        yield expect(seen["uri"], {"PowerState": "Off"}, within_s=SETTLE_S)
        yield post(seen["reset_uri"], on, is_unproven=True)
    yield expect(seen["uri"], {"PowerState": "On"}, within_s=SETTLE_S)


def choose(allowed: Sequence[str] | None, preferences: Sequence[str]) -> str | None:
    """Return the first preference that is allowed; the first one where the BMC lists nothing."""
    if not allowed:
        return preferences[0]
    return next((item for item in preferences if item in allowed), None)
