"""How the ports of nodes join networks: what the operating system of the image could not configure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.checks.nodes import each_node
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint, NetworkAttachment
from metalwright.model.image import WITHOUT_APT
from metalwright.model.network import Network


def check_attachments(files: SiteFiles) -> Iterator[LoadingError]:
    """Rails have a port each, VLANs a number and no larger packets than their port, and addresses a single port."""
    networks = {item.purpose: item for item in files.networks.model.networks} if files.networks else {}
    used = {node.blueprint for _, _, node in each_node(files)}
    for ref, blueprint in files.blueprints.items():
        for index, attachment in enumerate(blueprint.model.network):
            yield from _rails(blueprint, index, attachment)
            if ref in used and not attachment.rails:
                yield from _vlans(blueprint, index, attachment, networks)
    yield from _ports(files)


def warn_of_systems(files: SiteFiles) -> Iterator[LoadingError]:
    """The software phase speaks apt."""
    for blueprint in files.blueprints.values():
        system = blueprint.model.image.os
        if system in WITHOUT_APT:
            yield LoadingError(
                f"the software phase cannot be applied to {system}: packages, pins and patches are apt's",
                where=blueprint.where("image", "os"),
                found="image, login and networks are written; `provision` then stops in the software phase",
                hint="docs/how-to/operating-system.md says what was tried on which system",
            )


def _rails(blueprint: Loaded[Blueprint], index: int, attachment: NetworkAttachment) -> Iterator[LoadingError]:
    group = next((nics for nics in blueprint.model.hardware.nics if nics.role == attachment.role), None)
    if not attachment.rails or group is None:
        return
    if group.count != len(attachment.networks):
        yield LoadingError(
            f"rails of {attachment.role}: every port needs a network of its own",
            where=blueprint.where("network", index, "networks"),
            expected=f"{group.count} networks, as hardware.nics has {group.count} ports of that role",
            found=str(len(attachment.networks)),
            hint="list them in the order of the ports: fabric-rail-0, fabric-rail-1 and so on",
        )
    if group.link == "infiniband":
        yield LoadingError(
            f"rails of {attachment.role}: the ports are InfiniBand, which takes no Ethernet configuration",
            where=blueprint.where("network", index, "role"),
            expected="link: ethernet",
            found="link: infiniband",
            hint="leave the attachment out: the subnet manager gives InfiniBand ports their addresses",
        )


def _vlans(
    blueprint: Loaded[Blueprint], index: int, attachment: NetworkAttachment, networks: dict[str, Network]
) -> Iterator[LoadingError]:
    native, *tagged = (networks.get(purpose) for purpose in attachment.networks)
    limit = native.mtu if native is not None and attachment.mtu is None else None
    for number, network in enumerate(tagged, 1):
        if network is None:
            continue
        where = partial(blueprint.where, "network", index, "networks", number)
        if network.vlan is None:
            yield LoadingError(
                f"the network {network.name} is a VLAN here and has no number",
                where=where(),
                expected=f"vlan of {network.name} in inventory/networks.yaml",
                hint="the first network of a role is untagged, further ones are VLANs",
            )
        if limit is not None and (network.mtu or 0) > limit:
            yield LoadingError(
                f"the VLAN {network.name} takes larger packets than the port that it is on",
                where=where(),
                expected=f"an MTU of at most {limit}",
                found=str(network.mtu),
                hint="set mtu of this attachment: it then counts for the port and for all of its VLANs",
            )


def _ports(files: SiteFiles) -> Iterator[LoadingError]:
    for rack, index, node in each_node(files):
        blueprint = files.blueprints.get(node.blueprint)
        for attachment in blueprint.model.network if blueprint else ():
            ports = [port for port in node.ports if port.role == attachment.role]
            where = partial(rack.where, "nodes", index, "ports" if node.ports else "name")
            if attachment.rails and len(ports) != len(attachment.networks):
                yield LoadingError(
                    f"node {node.name}: which port of role {attachment.role} is on which rail cannot be told",
                    where=where(),
                    expected=f"{len(attachment.networks)} ports of that role with MACs, in the order of the rails",
                    found=str(len(ports)),
                    hint="`metalwright inspect` shows the MACs",
                )
            elif blueprint and blueprint.model.image.os != "debian-12" and _is_torn(attachment, len(ports)):
                yield LoadingError(
                    f"node {node.name}: one address cannot be on {len(ports)} ports of role {attachment.role}",
                    where=where(),
                    expected="bond or rails in the blueprint's network, or one port of that role",
                    hint="systemd-networkd of Debian gives it to every port; netplan and NetworkManager cannot",
                )


def _is_torn(attachment: NetworkAttachment, ports: int) -> bool:
    return ports > 1 and attachment.bond is None and not attachment.rails
