"""Phase *firmware*: versions within the blueprint's constraints, one image at a time, one restart for all."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import firmware as operations
from metalwright.operations.redfish.refusals import NO_SYSTEM, skipped


@deploy("Firmware")
def firmware() -> None:
    """Send the next image, or restart the host for those that wait; whoever called waits and looks again."""
    if host.data.get("equipment"):
        skipped(name="Firmware", reason=NO_SYSTEM)
        return
    blueprint = host.data.get("blueprint_data") or {}
    constraints, downgrades = blueprint.get("firmware") or {}, blueprint.get("firmware_downgrades") or []
    operations.updated(name="Firmware", constraints=constraints, downgrades=downgrades)
    operations.activated(name="Restart for firmware", constraints=constraints, downgrades=downgrades)
