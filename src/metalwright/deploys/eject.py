"""Cleaning up after a failed image: the medium goes out, the override goes away."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.operations.redfish import boot, virtual_media


@deploy("Eject")
def eject() -> None:
    """Empty every slot and clear the override; the power stays as it is."""
    virtual_media.ejected(name="No virtual medium")
    boot.override(name="No boot override", wanted="none")
