"""What makes an image this node: rendered files for names, static addresses, login and sudo.

The agent writes them into the fresh root file system. Nothing in them is secret: public keys and addresses only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import netaddr

from metalwright.errors import ImageError
from metalwright.model.agent_protocol import Seed, SeedFile
from metalwright.model.blueprint import NetworkAttachment
from metalwright.model.network import Network
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository
from metalwright.node_files import NETWORKS, NodeFile
from metalwright.templates import render

CLOUD_INIT_OFF = "/etc/cloud/cloud-init.disabled"
"""Where this file is, cloud-init does nothing: no second first boot, no new host keys, no addresses of its own."""


def render_seed(templates: Path, repository: SiteRepository, node_name: str, login_keys: Sequence[str]) -> Seed:
    """The seed of one node. ``templates`` is the site's ``templates/``; ``login_keys`` are public SSH keys.

    Raises:
        LoadingError: a template is missing or broken.
        ImageError: the node has no address on a network that it needs.
    """
    site, node = repository.site, repository.node(node_name)
    networks = network_files(repository, node_name)
    renderer = _Renderer(templates)
    user = site.ssh.user
    login = (
        renderer.file("sysusers.conf.j2", "/etc/sysusers.d/metalwright.conf", user=user),
        renderer.file("tmpfiles.conf.j2", "/etc/tmpfiles.d/metalwright.conf", user=user),
        renderer.file("sudoers.j2", "/etc/sudoers.d/metalwright", file_mode="0440", user=user),
        renderer.file("sshd.conf.j2", "/etc/ssh/sshd_config.d/00-metalwright.conf"),
        SeedFile(path=f"/etc/ssh/authorized_keys.d/{user}", text="".join(f"{key.strip()}\n" for key in login_keys)),
        renderer.file("resolv.conf.j2", "/etc/resolv.conf", dns=site.dns, domain=site.domain),
        SeedFile(path=CLOUD_INIT_OFF, text="metalwright has configured this system.\n"),
    )
    return Seed(
        hostname=node.name,
        fqdn=f"{node.name}.{site.domain}",
        files=(*login, *(renderer.file(item.template, item.path, **item.values) for item in networks)),
    )


def node_address(repository: SiteRepository, node_name: str, purpose: str) -> str:
    """The node's address with prefix length on the network of that purpose.

    Raises:
        ImageError: no such network, or no address allocated.
    """
    network = repository.network_of_purpose(purpose)
    address = repository.addresses.of_node(node_name).get(network.name) if network else None
    if network is None or address is None:
        raise ImageError(
            f"no address on a {purpose} network",
            where=node_name,
            hint="run `metalwright addresses allocate` and commit inventory/addresses.lock",
        )
    return f"{address}/{netaddr.IPNetwork(network.prefix).prefixlen}"


def network_files(repository: SiteRepository, node_name: str) -> tuple[NodeFile, ...]:
    """The files of systemd-networkd that give a node its networks; templates are those of ``templates/seed``.

    Raises:
        ImageError: the node has no address on a network that it needs.
    """
    node = repository.node(node_name)
    files: list[NodeFile] = []
    for index, attachment in enumerate(repository.blueprint_of(node.name).network):
        files += _attachment_files(repository, node, attachment, 10 + index)
    return tuple(files)


def _attachment_files(
    repository: SiteRepository, node: Node, attachment: NetworkAttachment, number: int
) -> list[NodeFile]:
    networks = [_network(repository, purpose, node) for purpose in attachment.networks]
    native, tagged = networks[0], networks[1:]
    vlans = [_Vlan(f"vlan{network.vlan}", network) for network in tagged]
    macs = [port.mac for port in node.ports if port.role == attachment.role]
    device = f"bond-{attachment.role}" if attachment.bond else None
    files = _bond_files(attachment, device, macs, number) if device else []
    is_first = attachment == repository.blueprint_of(node.name).network[0]
    link = {
        "device": device,
        "macs": macs,
        "mtu": attachment.mtu,
        "addresses": [node_address(repository, node.name, native.purpose)],
        "gateway": native.gateway if is_first else None,
        "dns": list(repository.site.dns),
        "domain": repository.site.domain,
        "vlans": [{"device": vlan.device} for vlan in vlans],
    }
    files.append(NodeFile("link.network.j2", f"{NETWORKS}/{number}-{attachment.role}.network", link))
    for vlan in vlans:
        base = f"{NETWORKS}/{number}-{vlan.device}"
        address = node_address(repository, node.name, vlan.network.purpose)
        tag = {"device": vlan.device, "vlan": vlan.network.vlan}
        files.append(NodeFile("vlan.netdev.j2", f"{base}.netdev", tag))
        files.append(NodeFile("vlan.network.j2", f"{base}.network", {"device": vlan.device, "addresses": [address]}))
    return files


def _bond_files(attachment: NetworkAttachment, device: str, macs: list[str], number: int) -> list[NodeFile]:
    base = f"{NETWORKS}/{number}-{device}"
    ports = {"device": device, "macs": macs, "mtu": attachment.mtu}
    return [
        NodeFile("bond.netdev.j2", f"{base}.netdev", {"device": device, "mode": attachment.bond}),
        NodeFile("bond-port.network.j2", f"{base}-port.network", ports),
    ]


def _network(repository: SiteRepository, purpose: str, node: Node) -> Network:
    network = repository.network_of_purpose(purpose)
    if network is None:
        raise ImageError(
            f"the blueprint joins a {purpose} network and the site has none",
            where=node.name,
            hint="add it to inventory/networks.yaml",
        )
    return network


@dataclass(frozen=True)
class _Vlan:
    device: str
    network: Network


@dataclass(frozen=True)
class _Renderer:
    templates: Path

    def file(self, template: str, path: str, *, file_mode: str = "0644", **values: object) -> SeedFile:
        return SeedFile(path=path, mode=file_mode, text=render(self.templates, f"seed/{template}", values))
