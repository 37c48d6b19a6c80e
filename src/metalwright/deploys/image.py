"""Phase *image*, first half: the deploy ramdisk starts. Destructive, so it needs a grant."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.operations.redfish import image as operations


@deploy("Image")
def image() -> None:
    """Boot the node's own medium once; the ramdisk writes, reports and powers off."""
    operations.started(name="Deploy ramdisk")
