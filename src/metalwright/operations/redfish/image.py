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
from metalwright.facts.redfish import BiosAttributes, BootOverride, Power, VirtualMedia
from metalwright.model.boot import BootCapabilities, BootMethod
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.operations.redfish import boot, http_boot, power
from metalwright.operations.redfish.boot_choice import capabilities
from metalwright.operations.redfish.requests import Commands, contained, line, look, refuse, show_diff, unreadable
from metalwright.operations.redfish.virtual_media import eject_commands, eject_lines, insert_commands

REFERENCE = f"{{secret:{MEDIA_URL}}}"


@operation()
@contained
def started() -> Commands:
    """Have the host run the deploy ramdisk from this node's own boot medium.

    Refused without a valid grant: nothing is written, the other hosts go on. With one: make the medium, power off,
    empty every slot, insert, one-time boot, power on; each step read back. Which of the blueprint's ``boot.method`` is
    taken depends on what the BMC offers (:mod:`metalwright.lifecycle.boot_method`). A ramdisk that is under way is
    left alone.
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
    media, state, seen = look(VirtualMedia), look(Power), look(BootOverride)
    if media is None or seen is None or state is None or state["state"] is None:
        yield unreadable("its virtual media, boot override and power state")
        return
    if deployment is not None and state["state"] == "On" and _is_under_way(media, seen, deployment):
        host.noop("the deploy ramdisk of this deployment is under way")
        return
    choice = services.boot_choice(node, _methods(), _offered(media, seen))
    if choice.method is None:
        yield refuse(f"the deploy ramdisk cannot be started in any way that the blueprint declares: {choice.others()}")
        return
    full = [slot for slot in media["slots"] if slot["is_inserted"]]
    is_on = state["state"] == "On"
    show_diff(
        [
            line("system disk", "as it is", f"image sha256:{grant.image_sha256}"),
            line("power", "On" if is_on else "Off", "Off, then On again" if is_on else "On"),
            *eject_lines(full),
            line("deploy ramdisk", None, f"by {choice.method}" + (f" ({choice.others()})" if choice.why_not else "")),
        ]
    )
    yield StringCommand("MEDIUM", "order", "--by", choice.method)
    yield from power.state._inner(wanted="Off")
    yield from eject_commands(full)
    yield from _start_commands(choice.method)
    yield from power.state._inner(wanted="On")


def _start_commands(method: BootMethod) -> Commands:
    """Yield what makes the next boot the ramdisk's; the host is off and every slot empty."""
    match method:
        case "uefi-http":
            yield from http_boot.boot_commands(REFERENCE, dict(host.data.get("http_boot_settings") or {}))
        case "pxe":
            yield from boot.override._inner(wanted="pxe")
        case "virtual-media":
            emptied = look(VirtualMedia)
            if emptied is None:
                yield unreadable("its virtual media")
                return
            yield from insert_commands(emptied, REFERENCE)
            yield from boot.override._inner(wanted="virtual-cd")


def _methods() -> list[BootMethod]:
    """The ways to start the ramdisk that the blueprint declares."""
    blueprint = host.data.get("blueprint_data") or {}
    return list((blueprint.get("boot") or {}).get("method") or ["virtual-media"])


def _offered(media: dict[str, Any], seen: dict[str, Any]) -> BootCapabilities:
    bios = None if seen["is_http_uri_shown"] else look(BiosAttributes)
    return capabilities(seen, media["slots"], bios["attributes"] if bios else {})


def _is_under_way(media: dict[str, Any], seen: dict[str, Any], deployment: Deployment) -> bool:
    """Whether this deployment's medium is what the host started from: in a slot, or as the URL of its HTTP boot."""
    mark = medium_mark(deployment.media_secret_sha256)
    shown = [str(slot["image"]) for slot in media["slots"] if slot["is_inserted"]] + [str(seen["http_uri"])]
    is_pxe_begun = deployment.boot_method == "pxe" and deployment.state is not DeploymentState.PREPARED
    return is_pxe_begun or any(mark in image for image in shown)
