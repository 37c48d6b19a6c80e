"""Power of the host, on demand: ``pyinfra inventory/bmcs.py deploys/power.py --data power=Off``."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import power as operations
from metalwright.operations.redfish.refusals import refused


@deploy("Power")
def power() -> None:
    """``On`` (the default), ``Off`` or ``Restart``."""
    wanted = str(host.data.get("power") or "On").capitalize()
    if wanted == "On":
        operations.state(name="Power", wanted="On")
    elif wanted == "Off":
        operations.state(name="Power", wanted="Off")
    elif wanted == "Restart":
        operations.reset(name="Power")
    else:
        refused(name="Power", reason=f"power can be On, Off or Restart, not {wanted}")
