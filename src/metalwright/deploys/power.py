"""Power of the host, on demand: ``pyinfra inventory/bmcs.py deploys/power.py --data power=Off``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import power as operations
from metalwright.operations.redfish.refusals import refused

GRACE_S = 120.0
"""How long an operating system has to shut down."""


@deploy("Power")
def power() -> None:
    """Host data ``power``: ``On`` (the default), ``Off``, ``Restart``, ``ForceOff`` or ``Cycle``.

    ``Off`` and ``Restart`` ask the operating system and give it ``grace_s`` seconds (120); ``then`` says what comes
    after: ``fail`` (the default) or ``force``. Both can stand in a mapping ``shutdown`` of group data as well.
    ``ForceOff`` and ``Cycle`` ask nobody.
    """
    wanted = str(host.data.get("power") or "On").lower()
    grace_s, then = _shutdown()
    match wanted:
        case "on":
            operations.state(name="Power", wanted="On")
        case "off":
            operations.state(name="Power", wanted="Off", grace_s=grace_s, then=then)
        case "forceoff":
            operations.state(name="Power", wanted="Off")
        case "restart":
            operations.restart(name="Power", grace_s=grace_s, then=then)
        case "cycle":
            operations.reset(name="Power")
        case _:
            refused(name="Power", reason=f"power can be On, Off, Restart, ForceOff or Cycle, not {wanted}")


def _shutdown() -> tuple[float, Literal["force", "fail"]]:
    """What the host data say about shutting down: seconds of grace, and what comes then."""
    told: Any = host.data.get("shutdown")
    settings: dict[str, Any] = dict(told) if isinstance(told, Mapping) else {}
    settings |= {name: host.data.get(name) for name in ("grace_s", "then") if host.data.get(name) is not None}
    return float(settings.get("grace_s", GRACE_S)), "force" if settings.get("then") == "force" else "fail"
