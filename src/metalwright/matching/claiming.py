"""Which node of the inventory is which machine that answered. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.matching.identity import agreeing_keys, identity_matches
from metalwright.model.finding import Finding
from metalwright.model.rack import IdentityKey, Node
from metalwright.model.report import HardwareReport


@dataclass(frozen=True)
class Claim:
    """A machine that is a node. ``findings`` are the keys that the BMC does not give (DEFERRED)."""

    node: Node
    report: HardwareReport
    keys: tuple[IdentityKey, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """A machine that cannot be given to one node: keys disagree, or two candidates claim each other's place."""

    report: HardwareReport
    nodes: tuple[Node, ...]
    why: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Claims:
    """The outcome for all machines and all nodes."""

    claimed: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]
    unclaimed: tuple[HardwareReport, ...]
    missing: tuple[Node, ...]


def claim(nodes: Sequence[Node], reports: Sequence[HardwareReport]) -> Claims:
    """Give machines to nodes by the identity keys that the nodes declare.

    A machine is a node's if at least one declared key agrees and none contradicts. A key that agrees beside one that
    contradicts is a conflict, and so is a machine that fits two nodes or a node that two machines fit.
    """
    claims: list[Claim] = []
    conflicts: list[Conflict] = []
    unclaimed: list[HardwareReport] = []
    for report in reports:
        touched = [node for node in nodes if agreeing_keys(node, report)]
        fitting = [node for node in touched if all(item.verdict != "FAIL" for item in identity_matches(node, report))]
        if len(fitting) == 1:
            node = fitting[0]
            deferred = tuple(identity_matches(node, report))
            claims.append(Claim(node, report, agreeing_keys(node, report), deferred))
        elif fitting:
            conflicts.append(Conflict(report, tuple(fitting), "several nodes fit this machine"))
        elif touched:
            findings = tuple(item for node in touched for item in identity_matches(node, report))
            conflicts.append(Conflict(report, tuple(touched), "identity keys contradict each other", findings))
        else:
            unclaimed.append(report)
    claims, doubled = _without_doubles(claims)
    seen = {item.node.name for item in claims} | {node.name for item in [*conflicts, *doubled] for node in item.nodes}
    missing = tuple(node for node in nodes if node.name not in seen and node.state != "retired")
    return Claims(tuple(claims), (*conflicts, *doubled), tuple(unclaimed), missing)


def _without_doubles(claims: Sequence[Claim]) -> tuple[list[Claim], list[Conflict]]:
    """Two machines that both look like one node: neither gets it. One BMC seen at two addresses is one machine."""
    kept: list[Claim] = []
    conflicts: list[Conflict] = []
    for item in claims:
        rivals = [other for other in claims if other is not item and other.node.name == item.node.name]
        if all(_is_same_machine(item.report, other.report) for other in rivals):
            if not any(other.node.name == item.node.name for other in kept):
                kept.append(item)
        else:
            conflicts.append(Conflict(item.report, (item.node,), "several machines look like this node"))
    return kept, conflicts


def _is_same_machine(first: HardwareReport, second: HardwareReport) -> bool:
    return (
        first.system.id == second.system.id
        and first.bmc.macs is not None
        and first.bmc.macs == second.bmc.macs
        and (first.system.serial, first.system.uuid) == (second.system.serial, second.system.uuid)
    )
