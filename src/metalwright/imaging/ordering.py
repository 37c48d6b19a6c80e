"""Ordering a deployment: from a node, a grant and an image to a boot medium that is ready to be inserted.

The one way to get a medium, for the runner and for plain pyinfra alike: without a valid grant there is none.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from metalwright.errors import GrantError, ImageError, UsageError
from metalwright.imaging.catalogue import ImageCatalogue, parse_image_ref
from metalwright.imaging.claims import write_claim
from metalwright.imaging.deployments import MediaNetwork, PreparedDeployment, prepare_deployment
from metalwright.imaging.image_trust import image_trust
from metalwright.imaging.media import remove_other_media, write_media
from metalwright.imaging.ramdisk import Ramdisk, build_ramdisk
from metalwright.imaging.seed import render_seed
from metalwright.imaging.server_certificate import load_server_certificate
from metalwright.imaging.signed_boot import signed_boot
from metalwright.model.agent_protocol import DiskRule, ExpectedIdentity
from metalwright.model.boot import BootMethod
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.grant import Grant
from metalwright.model.image import Image, Stamp
from metalwright.model.rack import Node
from metalwright.node_networks import node_address
from metalwright.ssh.keys import ensure_private_key, login_key_path, public_half
from metalwright.workspace import Workspace

CACHE_VARIABLE = "METALWRIGHT_CACHE"


@dataclass(frozen=True)
class Order:
    """A medium that the boot server serves at ``media_url`` (unguessable) until the deployment ends."""

    deployment: Deployment
    media_url: str = field(repr=False)


def cache_dir() -> Path:
    """Where built ramdisks are kept: ``METALWRIGHT_CACHE``, else the user's cache directory."""
    told = os.environ.get(CACHE_VARIABLE)
    if told:
        return Path(told)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "metalwright"


def login_key(workspace: Workspace) -> Path:
    """The private key that metalwright logs in to nodes with, made for the site when none is named."""
    site = workspace.repository.site
    path = login_key_path(site, workspace.paths)
    return ensure_private_key(path) if site.ssh.private_key is None else path


def pinned_image(workspace: Workspace, node: str) -> tuple[Image, Path]:
    """The image that the node's blueprint pins, ready to be written, and its file.

    Raises:
        ImageError: as :func:`pinned_entry`; a file that is gone or cut off; or nobody whom the site trusts vouches.
    """
    catalogue, image = ImageCatalogue(workspace.paths.images), pinned_entry(workspace, node)
    image_trust(workspace.repository.site, workspace.paths.state).voucher(catalogue.entry_path(image), image.ref)
    return image, _file_of(catalogue, image)


def pinned_entry(workspace: Workspace, node: str) -> Image:
    """What the catalogue says of the image that the node's blueprint pins.

    Raises:
        ImageError: not in the catalogue, or another digest than the pinned one.
    """
    pin = workspace.blueprint(node).image
    catalogue = ImageCatalogue(workspace.paths.images)
    image = catalogue.get(pin.name, pin.version)
    if image.file_sha256 != pin.file_sha256:
        raise ImageError(
            "the image in the catalogue is not the one that the blueprint pins",
            where=f"{pin.name}@{pin.version}",
            expected=f"sha256:{pin.file_sha256}",
            found=f"sha256:{image.file_sha256}",
            hint="fetch the pinned image, or release a blueprint version that pins this one",
        )
    return image


def _file_of(catalogue: ImageCatalogue, image: Image) -> Path:
    path = catalogue.file_path(image)
    found = path.stat().st_size if path.is_file() else None
    if found != image.file_size_bytes:
        raise ImageError(
            "the image file is gone" if found is None else "the image file has another size than its entry says",
            where=str(path),
            expected=f"{image.file_size_bytes} bytes",
            found="nothing" if found is None else f"{found} bytes",
            hint="metalwright image verify; then take the image again under a new version",
        )
    return path


def lost_way_back(workspace: Workspace, node: str) -> str | None:
    """Why the image that the node was last good with could not be written again; None: it could, or is the pinned one.

    Known by the journal, else by ``known-good.lock``.
    """
    recorded = workspace.journal.nodes.known_good(node)
    known = recorded.record if recorded is not None else workspace.repository.known_good.of_node(node)
    if known is None or known.image_sha256 == workspace.blueprint(node).image.file_sha256:
        return None
    catalogue = ImageCatalogue(workspace.paths.images)
    try:
        image = catalogue.get(*parse_image_ref(known.image))
        _file_of(catalogue, image)
    except (ImageError, UsageError) as error:
        return f"{known.image}: {error.what}"
    if image.file_sha256 != known.image_sha256:
        return f"{known.image}: the catalogue's has sha256 {image.file_sha256}, the node had {known.image_sha256}"
    return None


def order_deployment(
    workspace: Workspace,
    node_name: str,
    run: str,
    *,
    method: BootMethod = "virtual-media",
    now: datetime | None = None,
) -> Order:
    """Prepare and keep a deployment for the node, and write its medium for ``method``.

    Raises:
        GrantError: no valid grant; nothing was made.
        ImageError: image, ramdisk, template or address is missing.
    """
    now = now or datetime.now(UTC)
    node = workspace.repository.node(node_name)
    image, image_path = pinned_image(workspace, node_name)
    grant = valid_grant(workspace, node_name, image.file_sha256, run, now)
    check_customer(workspace, node_name, will_be_wiped=bool(grant.wipe), now=now)
    ramdisk = build_ramdisk(cache_dir())
    prepared = _prepare(workspace, node, image, image_path, grant, run, now, method)
    _write_medium(workspace, node, ramdisk, prepared)
    workspace.journal.deployments.create(prepared.deployment)
    remove_other_media(prepared.deployment.media_path, node.name)
    return Order(prepared.deployment, prepared.media_url(_files_url(workspace, method)))


def _files_url(workspace: Workspace, method: BootMethod) -> str:
    """The boot server as whoever fetches the medium sees it: the BMC, or the host's own firmware."""
    server = workspace.repository.site.boot_server
    address = server.address_for_bmc if method == "virtual-media" else server.address_for_node
    return f"http://{address}:{server.http_port}"


def valid_grant(workspace: Workspace, node: str, image_sha256: str, run: str, now: datetime) -> Grant:
    """The grant that allows this write.

    Raises:
        GrantError: there is none; the hint names the command that makes one.
    """
    grant = workspace.journal.grants.find_valid(node, image_sha256, now, run=run)
    if grant is None:
        raise GrantError(
            "no grant allows to write this node's disk",
            where=node,
            expected=f"a grant for image sha256:{image_sha256[:12]}…",
            found="none that is valid now",
            hint=f"metalwright plan {node} --grant",
        )
    return grant


def _prepare(
    workspace: Workspace,
    node: Node,
    image: Image,
    image_path: Path,
    grant: Grant,
    run: str,
    now: datetime,
    method: BootMethod,
) -> PreparedDeployment:
    stamp = Stamp(
        node=node.name,
        run=run,
        recipe=workspace.recipe(node.name),
        image=f"sha256:{image.file_sha256}",
        journal=workspace.journal.id,
        written=now,
        customer=node.customer,
    )
    return prepare_deployment(
        run=run,
        node=node.name,
        expect=_expected_identity(node),
        image=image,
        image_path=image_path,
        disk=_disk_rule(workspace, node, grant),
        overwrite=grant.overwrite,
        wipe=grant.wipe,
        stamp=stamp,
        seed=render_seed(
            workspace.paths.root / "templates", workspace.repository, node.name, [public_half(login_key(workspace))]
        ),
        media_dir=workspace.paths.state / "media",
        now=now,
        method=method,
        lifetime=_lifetime(workspace, grant),
    )


def other_customers(workspace: Workspace, node: str, now: datetime) -> tuple[str, ...]:
    """Whose data may be on the node's disks beside its own customer's, by the journal; ``none``: nobody's by name.

    Every write since the last one that was verified counts: a half-done erasure has erased nothing for sure.
    """
    found: list[str | None] = []
    for deployment in workspace.journal.deployments.written(node, now):
        found.append(deployment.task.stamp.customer)
        if deployment.state is DeploymentState.DONE:
            break
    wanted = workspace.repository.node(node).customer
    return tuple(sorted({name or "none" for name in found if name != wanted}))


def check_customer(workspace: Workspace, node: str, *, will_be_wiped: bool, now: datetime) -> None:
    """Refuse to give a node to another customer with the disks of the one before.

    Raises:
        GrantError: names both, and the command that erases.
    """
    others = other_customers(workspace, node, now)
    if others and not will_be_wiped:
        raise GrantError(
            "the node goes to another customer, and its disks are not to be erased",
            where=node,
            expected=f"data of customer {workspace.repository.node(node).customer or 'none'} alone",
            found=f"written for customer {', '.join(others)}",
            hint=f"metalwright rebuild {node} --wipe",
        )


def _lifetime(workspace: Workspace, grant: Grant) -> timedelta:
    limits = workspace.repository.site.limits
    return timedelta(minutes=limits.image_minutes + 60 + (limits.wipe_minutes if grant.wipe else 0))


def _expected_identity(node: Node) -> ExpectedIdentity:
    """The declared keys that the booted system can see: SMBIOS serial and UUID, and host port MACs.

    The BMC's MAC cannot be seen from the host; the port MACs stand in where they are declared.
    """
    macs = tuple(port.mac for port in node.ports)
    keys: list[str] = [key for key in ("serial", "uuid") if key in node.identity]
    if macs:
        keys.append("macs")
    if not keys:
        raise ImageError(
            "nothing declared about this node can be seen from inside it",
            where=node.name,
            expected="a serial, a UUID, or the MACs of host ports",
            hint="add `ports:` with their MACs to the rack file",
        )
    return ExpectedIdentity.model_validate({"keys": keys, "serial": node.serial, "uuid": node.uuid, "macs": macs})


def _disk_rule(workspace: Workspace, node: Node, grant: Grant) -> DiskRule:
    group, choice = workspace.blueprint(node.name).system_drive, node.system_disk
    return DiskRule(
        role=group.role,
        serial=(choice.serial if choice else None) or grant.disk_serial,
        wwn=choice.wwn if choice else None,
        min_bytes=group.min_bytes,
        max_bytes=group.max_bytes,
        protocol=group.protocol,
    )


def _write_medium(workspace: Workspace, node: Node, ramdisk: Ramdisk, prepared: PreparedDeployment) -> None:
    server = workspace.repository.site.boot_server
    certificate = load_server_certificate(workspace.paths.state / "boot-server")
    config = prepared.media_config(
        f"https://{server.address_for_node}:{server.https_port}", certificate.cert_pem, _media_network(workspace, node)
    )
    signed = signed_boot(cache_dir()) if workspace.blueprint(node.name).boot.secure_boot else None
    write_media(ramdisk, config, prepared.deployment.media_path, signed=signed)
    if prepared.deployment.boot_method == "pxe":
        write_claim(prepared.deployment.media_path, prepared.secrets)


def _media_network(workspace: Workspace, node: Node) -> MediaNetwork | None:
    """The port and address that the ramdisk uses; DHCP where the node's ports are not declared."""
    attachments = workspace.blueprint(node.name).network
    macs = [port.mac for port in node.ports if attachments and port.role == attachments[0].role]
    if not macs:
        return None
    purpose = attachments[0].networks[0]
    network = workspace.repository.network_of_purpose(purpose)
    return MediaNetwork(
        mac=macs[0],
        address=node_address(workspace.repository, node.name, purpose),
        gateway=network.gateway if network else None,
    )
