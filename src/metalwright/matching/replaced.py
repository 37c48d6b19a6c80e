"""Parts that were replaced: what the rack file names and the machine no longer has, and what it has instead. Pure.

Nothing is guessed. A value is given only where the machine leaves one answer; everything else is a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from metalwright.matching.drives import choose_system_disk, system_disk_finding
from metalwright.matching.identity import agreeing_keys, found_of_key, key_finding
from metalwright.matching.nics import unnamed_macs
from metalwright.model.blueprint import Blueprint
from metalwright.model.drift import Replacement
from metalwright.model.rack import IdentityKey, Node
from metalwright.model.report import HardwareReport


@dataclass
class ReplacedParts:
    """``replacements`` may be written as they are; ``reasons`` say why something else may not."""

    replacements: list[Replacement] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def replaced_parts(
    node: Node, blueprint: Blueprint, report: HardwareReport, owners: Mapping[str, str]
) -> ReplacedParts:
    """What of the node's entry the machine contradicts, and the values that it shows instead.

    ``owners`` maps each identity value of the inventory (lower case) to its node: a value of another node means that
    cables or machines were swapped, not that a part is new. When the identity cannot be accepted, nothing is. One key
    has to agree as it is and every one that differs gets the machine's value, so that two at least agree afterwards.
    """
    found = ReplacedParts()
    differing = [key for key in node.identity if _is_contradicted(node, key, report)]
    if differing:
        _identity(found, node, differing, report, owners)
        if found.reasons:
            return ReplacedParts(reasons=found.reasons)
    _system_disk(found, node, blueprint, report)
    _ports(found, node, blueprint, report)
    kept = []
    for item in found.replacements:
        owner = owners.get(item.becomes.casefold())
        if owner is None or owner == node.name:
            kept.append(item)
        else:
            found.reasons.append(f"{item.what} {item.becomes} is that of node {owner}: were two machines swapped?")
    return ReplacedParts(kept, found.reasons)


def owners_of(nodes: Iterable[Node]) -> dict[str, str]:
    """Each identity value in lower case → the node that has it."""
    return {
        value.casefold(): node.name
        for node in nodes
        for value in (node.serial, node.uuid, node.bmc_mac, *_disk(node), *(port.mac for port in node.ports))
        if value is not None
    }


def _disk(node: Node) -> tuple[str | None, ...]:
    return (node.system_disk.serial, node.system_disk.wwn) if node.system_disk is not None else ()


def _is_contradicted(node: Node, key: IdentityKey, report: HardwareReport) -> bool:
    finding = key_finding(node, key, report)
    return finding is not None and finding.verdict == "FAIL"


def _identity(
    found: ReplacedParts,
    node: Node,
    differing: list[IdentityKey],
    report: HardwareReport,
    owners: Mapping[str, str],
) -> None:
    agreeing = agreeing_keys(node, report)
    if not agreeing:
        found.reasons.append("no declared identity key agrees: this is another machine, not a replaced board")
        return
    for key in differing:
        values = found_of_key(key, report)
        owner = next((owners[value.casefold()] for value in values if value.casefold() in owners), None)
        if owner is not None and owner != node.name:
            found.reasons.append(f"{key} {', '.join(values)} is that of node {owner}: were two machines swapped?")
        elif len(values) > 1:
            found.reasons.append(f"the BMC names several values for {key} ({', '.join(values)}): take the sticker's")
        else:
            _replace(found, (key,), f"identity {key}", str(getattr(node, key)), values[0])


def _system_disk(found: ReplacedParts, node: Node, blueprint: Blueprint, report: HardwareReport) -> None:
    finding = system_disk_finding(blueprint, node, report)
    if finding is None or finding.verdict != "FAIL" or node.system_disk is None or node.system_disk.serial is None:
        return
    unnamed = node.model_copy(update={"system_disk": None})
    serial = choose_system_disk(blueprint, unnamed, report)
    if serial is None:
        found.reasons.append(
            f"system disk {node.system_disk.serial} is gone, and not exactly one drive can take its place: "
            f"{finding.found}"
        )
    elif node.system_disk.wwn is not None:
        found.reasons.append("system_disk names a WWN as well, which the BMC does not tell: write both by hand")
    else:
        _replace(found, ("system_disk", "serial"), "system disk", node.system_disk.serial, serial)


def _ports(found: ReplacedParts, node: Node, blueprint: Blueprint, report: HardwareReport) -> None:
    """Missing ports of a role, when the machine has just as many unnamed ones that can play it and no other role."""
    nics = report.nics or ()
    if not nics or any(not nic.ports for nic in nics):
        return
    macs = {port.mac for nic in nics for port in nic.ports}
    missing = [(index, port) for index, port in enumerate(node.ports) if port.mac not in macs]
    spare = {role: unnamed_macs(node, blueprint, report, role) for role in {port.role for _, port in missing}}
    for role, candidates in sorted(spare.items()):
        if None in candidates:
            continue  # the missing one may be a port whose MAC the BMC does not tell
        gone = [(index, port) for index, port in missing if port.role == role]
        shared = {mac for other, macs_of in spare.items() if other != role for mac in macs_of}
        if len(candidates) != len(gone) or shared & set(candidates):
            names = ", ".join(port.mac for _, port in gone)
            there = ", ".join(filter(None, candidates)) or "none"
            found.reasons.append(f"port {names} ({role}) is gone; unnamed ports that may be meant: {there}")
            continue
        for (index, port), mac in zip(gone, filter(None, candidates), strict=True):
            _replace(found, ("ports", index, "mac"), f"port of role {role}", port.mac, mac)


def _replace(found: ReplacedParts, path: tuple[str | int, ...], what: str, was: str, becomes: str) -> None:
    found.replacements.append(Replacement(path=path, what=what, was=was, becomes=becomes))
