"""pyinfra's inventory of BMCs: one host per node, groups by rack and blueprint; and what a connection needs to know.

Host data is plain JSON and holds no secret: node name, rack, identity, addresses, blueprint.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from pyinfra.api.exceptions import InventoryError

from metalwright.errors import MetalwrightError, UsageError
from metalwright.loading.repository import load_site
from metalwright.model.rack import Equipment, Node, Racked
from metalwright.model.repository import SiteRepository
from metalwright.model.site import Site
from metalwright.model.target import TARGET_VARIABLE, RebuildTarget

SITE_VARIABLE = "METALWRIGHT_SITE"


def site_dir() -> Path:
    """Return the site repository of this process: ``METALWRIGHT_SITE``, else the working directory."""
    return Path(os.environ.get(SITE_VARIABLE) or ".").resolve()


@lru_cache(maxsize=4)
def repository_at(directory: Path) -> SiteRepository:
    """Return the site in ``directory`` as the run of this process sees it, read once. Raises LoadingError."""
    repository = load_site(directory)
    target = os.environ.get(TARGET_VARIABLE)
    return RebuildTarget.model_validate_json(target).applied_to(repository) if target else repository


def inventory_at(directory: Path) -> SiteRepository:
    """Return the site in ``directory`` for an inventory file. Raises InventoryError, which pyinfra shows plainly."""
    try:
        return repository_at(directory)
    except MetalwrightError as error:
        raise InventoryError(str(error)) from error


def bmc_groups(directory: Path | None = None) -> dict[str, list[str]]:
    """Return group name → hosts for an inventory file: ``bmcs`` has all, then one group a rack and one a blueprint.

    Equipment has a group by its kind instead: ``kind_power-shelf``.

    Raises InventoryError for a site that cannot be read.
    """
    repository = inventory_at(directory or site_dir())
    groups: dict[str, list[str]] = {"bmcs": []}
    for rack in repository.racks:
        for node in rack.nodes:
            for group in ("bmcs", rack.name, node.blueprint):
                groups.setdefault(group, []).append(f"@redfish/{node.name}")
        for item in rack.equipment:
            for group in ("bmcs", rack.name, f"kind_{item.kind}"):
                groups.setdefault(group, []).append(f"@redfish/{item.name}")
    return groups


def groups_of(repository: SiteRepository, item: Racked) -> list[str]:
    """Return the groups of a BMC beside those that have all."""
    rack = next(rack.name for rack in repository.racks if item in (*rack.nodes, *rack.equipment))
    return [rack, item.blueprint if isinstance(item, Node) else f"kind_{_kind_of(item)}"]


def bmc_data(repository: SiteRepository, item: Racked) -> dict[str, Any]:
    """Return the host data of the BMC of a node or of equipment, which has no blueprint and no allocated address.

    ``equipment`` is the kind of equipment, null for a node.
    """
    own = _node_data(repository, item) if isinstance(item, Node) else {"equipment": _kind_of(item)}
    return {**_site_data(repository.site), **_item_data(repository, item), **own}


def _kind_of(item: Racked) -> str | None:
    return item.kind if isinstance(item, Equipment) else None


def _node_data(repository: SiteRepository, node: Node) -> dict[str, Any]:
    oob = repository.network_of_purpose("oob-management")
    addresses = repository.addresses.of_node(node.name)
    return {
        "equipment": None,
        "blueprint": node.blueprint,
        "blueprint_data": repository.blueprint_of(node.name).to_json(),
        "addresses": addresses,
        "bmc_address": addresses.get(oob.name) if oob else None,
        "bmc_prefix": oob.prefix if oob else None,
        "bmc_gateway": oob.gateway if oob else None,
        "firmware_catalogue": [release.to_json() for release in repository.firmware],
    }


def _item_data(repository: SiteRepository, item: Racked) -> dict[str, Any]:
    return {
        "node": item.name,
        "rack": groups_of(repository, item)[0],
        "identity": {key: getattr(item, key) for key in item.identity},
        "bmc_port": item.bmc_port or repository.site.redfish.port,
    }


def _site_data(site: Site) -> dict[str, Any]:
    return {
        "bmc_user": site.bmc_user,
        "default_bmc_users": list(default_users(site)),
        "hardening": site.hardening.to_json(),
        "firmware_patience": {
            "settle_s": site.limits.bmc_settle_minutes * 60,
            "deadline_s": site.limits.firmware_minutes * 60,
        },
        "ntp_servers": list(site.ntp),
        "dns_servers": list(site.dns),
    }


def default_users(site: Site) -> tuple[str, ...]:
    """Return the accounts that machines leave the factory with, each once; metalwright's own is none of them."""
    names = dict.fromkeys(credential.user for credential in site.factory_credentials)
    return tuple(name for name in names if name != site.bmc_user)


def racked_as(name: str, directory: Path | None = None) -> tuple[SiteRepository, Racked] | None:
    """Return a node or equipment of the site and its repository; None: there is no site here or no such thing in it."""
    where = directory or site_dir()
    if not (where / "inventory" / "site.yaml").exists():
        return None
    repository = repository_at(where)
    try:
        return repository, repository.racked_as(name)
    except UsageError:
        return None
