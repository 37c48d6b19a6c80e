"""pyinfra's inventory of operating systems: one host per node that has an address, groups by rack and blueprint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metalwright.connectors.bmcs import repository_at, site_dir
from metalwright.imaging.packages import mirror_path, read_public_key
from metalwright.model.blueprint import Blueprint
from metalwright.model.package import package_pins
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository
from metalwright.model.site import Site

Host = tuple[str, dict[str, Any]]
STATE = ".metalwright"
KEYRING = "/etc/apt/keyrings/metalwright.asc"
"""Where a node keeps the public key of the package mirror."""


def node_groups(directory: Path | None = None) -> dict[str, list[Host]]:
    """Group name → hosts: ``nodes`` has all, then one group a rack, and one a blueprint (``name@version``).

    Raises :class:`~metalwright.errors.LoadingError` for a site that cannot be read.
    """
    where = directory or site_dir()
    repository = repository_at(where)
    groups: dict[str, list[Host]] = {"nodes": []}
    for rack in repository.racks:
        for node in rack.nodes:
            host = node_host(repository, node, where)
            if host is not None:
                for group in ("nodes", rack.name, node.blueprint):
                    groups.setdefault(group, []).append(host)
    return groups


def node_host(repository: SiteRepository, node: Node, directory: Path) -> Host | None:
    """Name and plain-JSON data of one node; ``None`` while it has no address. Holds no secret."""
    where = ssh_address(repository, node)
    if where is None:
        return None
    site, blueprint = repository.site, repository.blueprint_of(node.name)
    data: dict[str, Any] = {
        "node": node.name,
        "fqdn": f"{node.name}.{site.domain}",
        "blueprint": node.blueprint,
        "ssh_hostname": where[0],
        "ssh_port": where[1],
        "ssh_user": site.ssh.user,
        "ssh_known_hosts_file": str((directory / STATE / "known_hosts").resolve()),
        "ssh_strict_host_key_checking": "yes",
        "_sudo": site.ssh.user != "root",
        "ntp_servers": list(site.ntp),
        "admins": [admin.to_json() for admin in site.admins],
        "package_pins": [pin.to_json() for pin in package_pins(blueprint.software)],
        **package_sources(site, blueprint, directory / STATE),
    }
    key = login_key_path(site, directory)
    return node.name, data | ({"ssh_key": str(key)} if key else {})


def package_sources(site: Site, blueprint: Blueprint, state: Path) -> dict[str, Any]:
    """``apt_sources`` of the site; when it names none, the blueprint's own mirror on the boot server, if it exists."""
    if site.apt.sources:
        return {"apt_sources": list(site.apt.sources)}
    path = mirror_path(blueprint)
    public_key = read_public_key(state / path)
    if public_key is None:
        return {}
    server = site.boot_server
    url = f"http://{netloc(server.address_for_node, server.http_port)}/{path}"
    return {"apt_sources": [f"deb [signed-by={KEYRING}] {url} ./"], "apt_keyring": public_key}


def login_key_path(site: Site, directory: Path) -> Path | None:
    """The private key to log in with: the one that the site names, else its own when it has been made."""
    if site.ssh.private_key is not None:
        return (directory / Path(site.ssh.private_key).expanduser()).resolve()
    own = directory / STATE / "ssh" / "id_ed25519"
    return own.resolve() if own.exists() else None


def netloc(address: str, port: int) -> str:
    """Address and port as a URL writes them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def ssh_address(repository: SiteRepository, node: Node) -> tuple[str, int] | None:
    """Where the node's sshd is reached: as the inventory says, else its own host-management address."""
    if node.ssh is not None:
        return node.ssh.host, node.ssh.port
    network = repository.network_of_purpose("host-management")
    address = repository.addresses.of_node(node.name).get(network.name) if network else None
    return (address, 22) if address else None
