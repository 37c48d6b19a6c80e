"""pyinfra's inventory of operating systems: one host per node that has an address, groups by rack and blueprint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metalwright.acceptance.burn_in.tests import tool_packages
from metalwright.connectors.bmcs import inventory_at, site_dir
from metalwright.errors import ImageError
from metalwright.imaging.packages import mirror_path, read_public_key
from metalwright.loading import SitePaths
from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository
from metalwright.model.site import Site
from metalwright.node_files import KEYRING, node_data
from metalwright.node_networks import network_files, stack_of
from metalwright.ssh.keys import login_key_path
from metalwright.ssh.target import target_of

Host = tuple[str, dict[str, Any]]


def node_groups(directory: Path | None = None) -> dict[str, list[Host]]:
    """Group name → hosts: ``nodes`` has all, then one group a rack, and one a blueprint (``name@version``).

    Raises InventoryError for a site that cannot be read.
    """
    where = directory or site_dir()
    repository = inventory_at(where)
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
    target = target_of(repository, node)
    if target is None:
        return None
    site, blueprint, paths = repository.site, repository.blueprint_of(node.name), SitePaths(directory)
    data: dict[str, Any] = {
        **node_data(repository, node),
        "ssh_hostname": target.hostname,
        "ssh_port": target.port,
        "ssh_user": target.user,
        "ssh_known_hosts_file": str(paths.known_hosts.resolve()),
        "ssh_strict_host_key_checking": "yes",
        "_sudo": target.user != "root",
        "test_packages": list(tool_packages(blueprint)),
        "networks": _networks(repository, node),
        "image_os": blueprint.image.os,
        "network_stack": stack_of(repository, node.name).name,
        **package_sources(site, blueprint, paths.state),
    }
    key = login_key_path(site, paths)
    is_there = site.ssh.private_key is not None or key.exists()
    return node.name, data | ({"ssh_key": str(key)} if is_there else {})


def _networks(repository: SiteRepository, node: Node) -> list[dict[str, Any]] | None:
    """Template, path, mode and values of each network file; None while the node lacks an address that they need."""
    try:
        files = network_files(repository, node.name)
    except ImageError:
        return None
    return [
        {"template": item.template, "path": item.path, "mode": item.mode, "values": dict(item.values)} for item in files
    ]


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


def netloc(address: str, port: int) -> str:
    """Address and port as a URL writes them."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
