"""A site on disk that is about addresses: what its networks and nodes are is said by each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.simulator.discovery.sites import SiteOnDisk, make_site

from metalwright.loading import read_addresses
from metalwright.model.addresses import AddressLock

TEMPLATES = Path(__file__).parents[2] / "templates"


def node(number: int, **more: Any) -> dict[str, Any]:
    """The rack file's entry of ``n<number>``."""
    return {
        "name": f"n{number}",
        "serial": f"SER{number:03d}X",
        "bmc_mac": f"52:54:00:ad:00:{number:02x}",
        "blueprint": "lab-vm@1.0.0",
        **more,
    }


def site_with(root: Path, nodes: Iterable[dict[str, Any]] = (), oob: Any = None, **more: Any) -> SiteOnDisk:
    """A site whose out-of-band network has the prefix ``oob`` and the further properties ``more``."""
    site = make_site(root, list(nodes) or [node(1)])
    networks = [
        {"name": "oob", "purpose": "oob-management", "prefix": oob or "10.0.0.0/24", **more},
        {"name": "hosts", "purpose": "host-management", "prefix": "10.1.0.0/24"},
    ]
    shutil.copytree(TEMPLATES, root / "templates", dirs_exist_ok=True)
    YAML().dump({"schema": 1, "networks": networks}, root / "inventory/networks.yaml")
    return site


def set_nodes(site: SiteOnDisk, nodes: Iterable[dict[str, Any]]) -> None:
    """Replace the nodes of the site's only rack."""
    rack = {"schema": 1, "name": "r1", "site": "lab", "nodes": list(nodes)}
    YAML().dump(rack, site.root / "inventory/racks/r1.yaml")


def lock_of(site: SiteOnDisk) -> AddressLock:
    """What ``addresses.lock`` says."""
    return read_addresses(site.root / "inventory/addresses.lock", root=site.root)


def oob_addresses(site: SiteOnDisk) -> dict[str, str]:
    """Node → its live out-of-band address."""
    live = (item for item in lock_of(site).allocations if item.freed is None and item.network == "oob")
    return {item.node: item.address for item in live}
