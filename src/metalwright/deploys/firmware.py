"""Phase *firmware*: versions within the blueprint's constraints."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import firmware as operations


@deploy("Firmware")
def firmware() -> None:
    """Compare; a version that does not fit stops this host with what was found."""
    constraints = (host.data.get("blueprint_data") or {}).get("firmware") or {}
    operations.versions(name="Firmware versions", constraints=constraints)
