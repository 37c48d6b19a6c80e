"""Which node of the inventory is which machine that answered. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metalwright.matching.identity import agreeing_keys, identity_matches, serials_of
from metalwright.model.base import is_filler, uuid_forms
from metalwright.model.finding import Finding
from metalwright.model.rack import IdentityKey, Node, Racked
from metalwright.model.report import HardwareReport

DOUBTFUL = "only values that several machines show agree"

_Value = tuple[str, str]
"""An identity value in the form that is compared: (key, text)."""


@dataclass(frozen=True)
class Claim:
    """A machine that is a node. ``findings`` are the keys that the BMC does not give (DEFERRED)."""

    node: Racked
    report: HardwareReport
    keys: tuple[IdentityKey, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """A machine that cannot be given to one node: keys disagree, or two candidates claim each other's place."""

    report: HardwareReport
    nodes: tuple[Racked, ...]
    why: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Claims:
    """The outcome for all machines and all nodes.

    ``repeated`` are identity values that several machines show (``serial ABC123``): they tell no machine from another.
    """

    claimed: tuple[Claim, ...]
    conflicts: tuple[Conflict, ...]
    unclaimed: tuple[HardwareReport, ...]
    missing: tuple[Racked, ...]
    repeated: frozenset[str] = frozenset()


def claim(nodes: Sequence[Racked], reports: Sequence[HardwareReport]) -> Claims:
    """Give machines to nodes by the identity keys that the nodes declare.

    A machine is a node's if at least one declared key agrees and none contradicts. A value that several machines show
    counts for none of them. A key that agrees beside one that contradicts is a conflict, and so is a machine that fits
    two nodes, a node that two machines fit, or a machine for which only repeated values speak (unless its node is
    another machine for better reasons: then it is unclaimed).
    """
    repeated = _repeated(reports)
    by_value = _nodes_by_value(nodes)
    claims: list[Claim] = []
    conflicts: list[Conflict] = []
    unclaimed: list[HardwareReport] = []
    for report in reports:
        outcome = _judge(report, _telling(report, repeated), by_value)
        if isinstance(outcome, Claim):
            claims.append(outcome)
        elif outcome is not None:
            conflicts.append(outcome)
        else:
            unclaimed.append(report)
    claims, doubled = _without_doubles(claims)
    claimed = {item.node.name for item in claims}
    settled = [item for item in conflicts if item.why == DOUBTFUL and claimed.issuperset(n.name for n in item.nodes)]
    conflicts = [item for item in conflicts if item not in settled]
    unclaimed += [item.report for item in settled]
    seen = {item.node.name for item in claims} | {node.name for item in [*conflicts, *doubled] for node in item.nodes}
    missing = tuple(node for node in nodes if node.name not in seen and not _is_retired(node))
    shown = frozenset(f"{key} {text}" for key, text in repeated)
    return Claims(tuple(claims), (*conflicts, *doubled), tuple(unclaimed), missing, shown)


def _is_retired(node: Racked) -> bool:
    return isinstance(node, Node) and node.state == "retired"


def _judge(
    report: HardwareReport, telling: HardwareReport, by_value: dict[_Value, list[Racked]]
) -> Claim | Conflict | None:
    """``telling`` is the report without repeated values."""
    touched = _touched(telling, by_value)
    fitting = [node for node in touched if all(item.verdict != "FAIL" for item in identity_matches(node, telling))]
    if len(fitting) == 1:
        node = fitting[0]
        return Claim(node, report, agreeing_keys(node, telling), tuple(identity_matches(node, telling)))
    if fitting:
        return Conflict(report, tuple(fitting), "several nodes fit this machine")
    if touched:
        findings = tuple(item for node in touched for item in identity_matches(node, telling))
        return Conflict(report, tuple(touched), "identity keys contradict each other", findings)
    doubtful = _touched(report, by_value) if telling is not report else []
    if doubtful:
        return Conflict(report, tuple(doubtful), DOUBTFUL)
    return None


def _touched(report: HardwareReport, by_value: dict[_Value, list[Racked]]) -> list[Racked]:
    """The nodes of which at least one declared key agrees, each once."""
    found = {node.name: node for value in _values_of(report) for node in by_value.get(value, ())}
    return list(found.values())


def _nodes_by_value(nodes: Sequence[Racked]) -> dict[_Value, list[Racked]]:
    by_value: defaultdict[_Value, list[Racked]] = defaultdict(list)
    for node in nodes:
        for key in node.identity:
            declared: str = getattr(node, key)
            for text in uuid_forms(declared) if key == "uuid" else (_folded(declared),):
                by_value[key, text].append(node)
    return by_value


def _values_of(report: HardwareReport) -> Iterator[_Value]:
    yield from (("serial", _folded(serial)) for serial in serials_of(report))
    if report.system.uuid is not None and not is_filler(report.system.uuid):
        yield "uuid", report.system.uuid
    yield from (("bmc_mac", mac) for mac in report.bmc.macs or ())


def _repeated(reports: Sequence[HardwareReport]) -> frozenset[_Value]:
    """Values on more than one machine: a serial of the maker's samples, the MAC of a BMC with several hosts."""
    machines = {_machine_key(report) or index: report for index, report in enumerate(reports)}
    counts = Counter(value for report in machines.values() for value in set(_values_of(report)))
    return frozenset(value for value, count in counts.items() if count > 1)


def _telling(report: HardwareReport, repeated: frozenset[_Value]) -> HardwareReport:
    """The report without the values that other machines show, too; itself if there are none."""
    if repeated.isdisjoint(_values_of(report)):
        return report
    system, chassis = report.system, report.chassis
    macs = tuple(mac for mac in report.bmc.macs or () if ("bmc_mac", mac) not in repeated)
    serials = {name: None for name in ("serial", "sku") if _is_repeated(getattr(system, name), repeated)}
    uuid = {"uuid": None} if ("uuid", str(system.uuid)) in repeated else {}
    changed = {
        "system": system.model_copy(update={**serials, **uuid}),
        "chassis": chassis.model_copy(update={"serial": None} if _is_repeated(chassis.serial, repeated) else {}),
        "bmc": report.bmc.model_copy(update={"macs": macs or None}),
    }
    return report.model_copy(update=changed)


def _is_repeated(serial: str | None, repeated: frozenset[_Value]) -> bool:
    return serial is not None and ("serial", _folded(serial)) in repeated


def _folded(text: str) -> str:
    return text.strip().casefold()


def _machine_key(report: HardwareReport) -> tuple[object, ...] | None:
    """What is the same when one machine is seen at two addresses; ``None`` where nothing can tell."""
    if report.bmc.macs is None:
        return None
    return report.system.id, report.bmc.macs, report.system.serial, report.system.uuid


def _without_doubles(claims: Sequence[Claim]) -> tuple[list[Claim], list[Conflict]]:
    """Two machines that both look like one node: neither gets it. One BMC seen at two addresses is one machine."""
    by_node: defaultdict[str, list[Claim]] = defaultdict(list)
    for item in claims:
        by_node[item.node.name].append(item)
    kept: list[Claim] = []
    conflicts: list[Conflict] = []
    for rivals in by_node.values():
        machines = {_machine_key(item.report) or id(item) for item in rivals}
        if len(machines) == 1:
            kept.append(rivals[0])
        else:
            conflicts += [
                Conflict(item.report, (item.node,), "several machines look like this node") for item in rivals
            ]
    return kept, conflicts
