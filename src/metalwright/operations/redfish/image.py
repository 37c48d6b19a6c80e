"""Starting the deploy ramdisk: the destructive act of this side, so its permission is asked before anything else."""

from __future__ import annotations

from typing import Any

from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.connectors.bmcs import site_dir
from metalwright.connectors.guard import missing_grant
from metalwright.connectors.secrets import MEDIA_URL, medium_mark
from metalwright.connectors.services import services_at
from metalwright.errors import MetalwrightError
from metalwright.facts.redfish import Power, VirtualMedia
from metalwright.model.deployment import Deployment
from metalwright.operations.redfish import boot, http_boot, power
from metalwright.operations.redfish.requests import Commands, contained, line, look, refuse, show_diff, unreadable
from metalwright.operations.redfish.virtual_media import cd_slot, eject_commands, insert_commands

REFERENCE = f"{{secret:{MEDIA_URL}}}"


@operation()
@contained
def started() -> Commands:
    """Have the host run the deploy ramdisk from this node's own boot medium.

    Refused without a valid grant: nothing is written, the other hosts go on. With one: make the medium, power off,
    empty every slot, insert, one-time boot, power on; each step read back. A BMC without a virtual CD boots it over
    HTTP where the blueprint's ``boot.method`` has ``uefi-http``. A ramdisk that is under way is left alone.
    """
    node = host.data.get("redfish_node")
    if not node:
        yield refuse("only a node of the inventory can be imaged")
        return
    try:
        services = services_at(site_dir())
        grant, deployment = services.grant(node), services.deployment(node)
    except MetalwrightError as error:
        yield refuse(error)
        return
    if grant is None:
        yield refuse(missing_grant(node))
        return
    media, state = look(VirtualMedia), look(Power)
    if media is None or state is None or state["state"] is None:
        yield unreadable("its virtual media and power state")
        return
    if deployment is not None and state["state"] == "On" and _is_inserted(media, deployment):
        host.noop("the deploy ramdisk of this deployment is under way")
        return
    show_diff([line("system disk", "as it is", f"image sha256:{grant.image_sha256}")])
    yield StringCommand("MEDIUM", "order")
    yield from power.state._inner(wanted="Off")
    yield from eject_commands([slot for slot in media["slots"] if slot["is_inserted"]])
    emptied = look(VirtualMedia)
    if emptied is None:
        yield unreadable("its virtual media")
        return
    if cd_slot(emptied["slots"]) is None and "uefi-http" in _methods():
        yield from http_boot.boot_commands(REFERENCE, dict(host.data.get("http_boot_settings") or {}))
    else:
        yield from insert_commands(emptied, REFERENCE)
        yield from boot.override._inner(wanted="virtual-cd")
    yield from power.state._inner(wanted="On")


def _methods() -> list[str]:
    """The ways to start the ramdisk that the blueprint declares."""
    blueprint = host.data.get("blueprint_data") or {}
    return list((blueprint.get("boot") or {}).get("method") or ["virtual-media"])


def _is_inserted(media: dict[str, Any], deployment: Deployment) -> bool:
    mark = medium_mark(deployment.media_secret_sha256)
    return any(slot["is_inserted"] and mark in str(slot["image"]) for slot in media["slots"])
