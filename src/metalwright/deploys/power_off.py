"""Making a machine safe after a failure: power off, medium out."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.deploys.eject import eject
from metalwright.operations.redfish import power


@deploy("Power off")
def power_off() -> None:
    """Power off first, so that nothing boots from the medium any more."""
    power.state(name="Power off", wanted="Off")
    eject()
