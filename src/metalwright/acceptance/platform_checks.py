"""The checks of board, clock, mounts, cables and isolation that follow from blueprint, rack file and networks. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metalwright.acceptance.isolation import PORTS
from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network
from metalwright.model.rack import Node

CLOCK_LIMIT_S = 10.0
"""A coarse look from outside; how well chrony keeps the clock is the test ``time-sync`` of a blueprint."""

OTHER_BMCS = 4
"""So many further BMCs of the site are tried from the workload network."""


def platform_checks(blueprint: Blueprint, node: Node, isolation: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """By kind; ``isolation`` as :func:`isolation_checks` makes it. What a blueprint leaves out is not checked."""
    hardware = blueprint.hardware
    return {
        "pcie": [
            {
                "id": group.role,
                "count": group.count,
                "link": group.link,
                "lanes": group.pcie_lanes,
                "generation": group.pcie_generation,
                "macs": [port.mac for port in node.ports if port.role == group.role],
            }
            for group in hardware.nics
            if group.pcie_lanes is not None or group.pcie_generation is not None
        ],
        "numa": [{"id": "nodes", "nodes": hardware.cpus.numa_nodes}] if hardware.cpus.numa_nodes is not None else [],
        "memory_ecc": [{"id": "host", "uncorrected": 0}] if hardware.memory.ecc else [],
        "mounts": [{"id": "fstab", "root_option": "rw"}],
        "clock": [{"id": "controller", "limit_s": CLOCK_LIMIT_S}],
        "cabling": list(_cables(blueprint, node)),
        "isolation": [dict(check) for check in isolation],
    }


def _cables(blueprint: Blueprint, node: Node) -> Iterator[dict[str, Any]]:
    """``fabric-0`` is the first port of the role ``fabric``, in the order of the rack file."""
    links = {group.role: group.link for group in blueprint.hardware.nics}
    for cable in blueprint.cabling:
        role, _, number = cable.port.rpartition("-")
        index = int(number) if number.isdecimal() else None
        macs = [port.mac for port in node.ports if port.role == role]
        yield {
            "id": cable.port,
            "to": cable.to,
            "link": links.get(role, "ethernet"),
            "index": index if index is not None else 0,
            "mac": macs[index] if index is not None and index < len(macs) else None,
        }


def isolation_checks(
    networks: Sequence[Network], own: Mapping[str, str], bmcs: Sequence[str]
) -> tuple[dict[str, Any], ...]:
    """One check for each workload address of the node: from there, none of these BMCs may answer.

    ``own`` maps networks to the node's addresses, ``bmcs`` are addresses of BMCs, its own first. The gateway of the
    BMCs' network is tried as well.
    """
    gateways = [network.gateway for network in networks if network.purpose == "oob-management" and network.gateway]
    tried = [*bmcs[: OTHER_BMCS + 1], *gateways]
    targets = [f"{address}:{port}" for address in tried if ":" not in address for port in PORTS]
    return tuple(
        {"id": network.name, "source": own[network.name], "targets": targets}
        for network in networks
        if network.purpose == "workload" and network.name in own and ":" not in own[network.name] and targets
    )
