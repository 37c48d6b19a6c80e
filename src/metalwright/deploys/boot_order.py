"""The persistent boot order, on demand: no shell before the disk, and the disk's entry enabled."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.operations.redfish import boot


@deploy("Boot order")
def boot_order() -> None:
    """Repair the boot order where it would not start the disk."""
    boot.order(name="Boot order")
