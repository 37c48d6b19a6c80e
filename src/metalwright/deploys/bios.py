"""Phase *bios*: every declared attribute, through the registry of this BIOS version."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import bios as operations


@deploy("BIOS")
def bios() -> None:
    """Write what differs and restart the host to bring it into force; whoever called waits and looks again."""
    profile = (host.data.get("blueprint_data") or {}).get("bios") or {}
    desired = profile.get("attributes") or {}
    operations.attributes(name="BIOS attributes", desired=desired)
    operations.applied(name="Restart for BIOS attributes", desired=desired)
