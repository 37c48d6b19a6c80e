"""What Prometheus scrapes: one target an exporter of a node, labelled as alerts and dashboards group. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metalwright.model.blueprint import Blueprint
from metalwright.model.package import agent_ports
from metalwright.model.rack import Node, Rack
from metalwright.model.repository import SiteRepository
from metalwright.topology import host_address, leaves_of, rails_of

WATCHED_STATES = frozenset({"ready", "held", "spare"})
"""Nodes in other states are not expected to answer."""

JOBS = {
    "node_exporter": "metalwright-node",
    "dcgm_exporter": "metalwright-gpu",
    "amd_metrics_exporter": "metalwright-gpu",
}


def scrape_targets(repository: SiteRepository) -> dict[str, list[dict[str, Any]]]:
    """Job → targets in the form of Prometheus' ``file_sd``, by node name. Nodes without an address are left out."""
    found: dict[str, list[dict[str, Any]]] = {job: [] for job in JOBS.values()}
    for rack, node in _watched(repository):
        address = host_address(repository, node)
        if address is None:
            continue
        blueprint = repository.blueprint_of(node.name)
        labels = target_labels(repository, rack, node, blueprint)
        for agent, port in agent_ports(blueprint.software).items():
            found[JOBS[agent]].append({"targets": [_netloc(address, port)], "labels": labels})
    return found


def target_labels(repository: SiteRepository, rack: Rack, node: Node, blueprint: Blueprint) -> dict[str, str]:
    """``node site rack blueprint role``, and where they are known ``leaf`` and ``rails``, several joined by commas."""
    labels = {
        "node": node.name,
        "site": repository.site.name,
        "rack": rack.name,
        "blueprint": blueprint.ref,
        "role": blueprint.server_class.role,
        "leaf": ",".join(leaves_of(rack, blueprint)),
        "rails": ",".join(rails_of(blueprint)),
    }
    return {key: value for key, value in labels.items() if value}


def _watched(repository: SiteRepository) -> Iterator[tuple[Rack, Node]]:
    pairs = ((rack, node) for rack in repository.racks for node in rack.nodes if node.state in WATCHED_STATES)
    return iter(sorted(pairs, key=lambda pair: pair[1].name))


def _netloc(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
