"""Phase *image*, second half: away with the medium, up from the disk."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.operations.redfish import boot, power, virtual_media


@deploy("Boot from disk")
def boot_disk() -> None:
    """Empty every slot and clear the override, both proven, before the power comes on.

    A boot order that would not start the disk is told; ``deploys/boot_order.py`` repairs it.
    """
    virtual_media.ejected(name="No virtual medium")
    boot.override(name="No boot override", wanted="none")
    boot.order(name="Boot order", is_repaired=False)
    power.state(name="Power on", wanted="On")
