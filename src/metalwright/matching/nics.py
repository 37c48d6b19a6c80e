"""Network ports by role, told apart by speed and link technology, and the ports that the rack file names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalwright.matching.groups import Fit, assign, fits_of, shortfalls
from metalwright.matching.look import RESEAT, Look
from metalwright.matching.names import told_slot
from metalwright.model.blueprint import Blueprint, Nics
from metalwright.model.finding import Finding
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport, Nic, NicPort

_Port = tuple[Nic, NicPort]


def nic_findings(look: Look, wanted: Sequence[Nics]) -> Iterator[Finding]:
    """Every group must find its ports; a port of the right speed in the wrong mode is named as such."""
    if not wanted:
        return
    nics = look.report.nics
    expected = "; ".join(map(described_group, wanted))
    if nics is None or (nics == () and look.report.cannot_see("nics")):
        yield look.unknown("nics", expected)
        return
    ports = sorted(((nic, port) for nic in nics for port in nic.ports), key=_speed)
    counts = [group.count for group in wanted]
    table = fits_of(ports, wanted, _fit)
    if any(shortfalls(assign(table, counts, Fit.YES), counts)):
        yield from _short(look, wanted, nics, ports, table)
    yield from _named_ports(look, wanted, ports)


def _short(
    look: Look, wanted: Sequence[Nics], nics: Sequence[Nic], ports: Sequence[_Port], table: list[list[Fit]]
) -> Iterator[Finding]:
    counts = [group.count for group in wanted]
    best = assign(table, counts, Fit.MAYBE)
    short = shortfalls(best, counts)
    has_hidden_ports = any(not nic.ports for nic in nics)
    if not any(short) or has_hidden_ports:
        yield look.unknown("nics", "; ".join(map(described_group, wanted)), found=_listed(nics))
        return
    spare = [port for index, port in enumerate(ports) if index not in best]
    for number, (group, missing) in enumerate(zip(wanted, short, strict=True)):
        right = [ports[index] for index, owner in best.items() if owner == number]
        yield from _missing(look, group, missing, spare, right)


def _missing(look: Look, group: Nics, missing: int, spare: list[_Port], right: Sequence[_Port]) -> Iterator[Finding]:
    """Ports in the wrong mode, then ports of the wrong kind, then what is not there at all."""
    kind = _described_kind(group)
    hint = look.would_do("nics", [] if right else [f"a card with {kind} ports"], [nic.model for nic, _ in right])
    modes = [item for item in spare if _is_wrong_mode(item, group)][:missing]
    for item in modes:
        spare.remove(item)
        setting = f"set the port's link type to {group.link} in its firmware, or {hint}"
        yield look.fail("nic-link", _slot(item), f"{kind} ({group.role})", _described_port(item), setting)
    slow = [item for item in spare if _is_slow(item, group)][: missing - len(modes)]
    for item in slow:
        spare.remove(item)
        yield look.fail("nic-mismatch", _slot(item), f"{kind} ({group.role})", _described_port(item), hint)
    left = missing - len(modes) - len(slow)
    if left > 0:
        found = f"{len(right)} of {group.count} ports"
        yield look.fail("nic-missing", None, described_group(group), found, f"{hint}; {RESEAT}")


def _named_ports(look: Look, wanted: Sequence[Nics], ports: Sequence[_Port]) -> Iterator[Finding]:
    macs = {port.mac for _, port in ports}
    for named in look.node.ports:
        if named.mac in macs:
            continue
        expected = f"a port with MAC {named.mac} ({named.role})"
        if None in macs or any(not nic.ports for nic in look.report.nics or ()):
            yield look.unknown("nic-mac", expected)
        else:
            hint = "the card was replaced, or the rack file names another machine's port: compare the card's sticker"
            yield look.fail("nic-mac", None, expected, _others(look, wanted, named.role, ports), hint)


def _others(look: Look, wanted: Sequence[Nics], role: str, ports: Sequence[_Port]) -> str:
    fitting = _unnamed(look.node, wanted, role, ports)
    return ", ".join(f"{_slot(item)}: {item[1].mac}" for item in fitting) or "no such port"


def unnamed_macs(node: Node, blueprint: Blueprint, report: HardwareReport, role: str) -> tuple[str | None, ...]:
    """MAC addresses of the ports that the rack file does not name and that can play the role, in the BMC's order."""
    ports = [(nic, port) for nic in report.nics or () for port in nic.ports]
    return tuple(port.mac for _, port in _unnamed(node, blueprint.hardware.nics, role, ports))


def _unnamed(node: Node, wanted: Sequence[Nics], role: str, ports: Sequence[_Port]) -> list[_Port]:
    """The ports that the rack file does not name and that could play the role."""
    declared = {named.mac for named in node.ports}
    groups = [group for group in wanted if group.role == role]
    return [
        item
        for item in ports
        if item[1].mac not in declared and (not groups or any(_fit(item, group) is not Fit.NO for group in groups))
    ]


def _speed(item: _Port) -> float:
    """Slow ports are placed first, so that a fast one is the one left over to be named."""
    return item[1].speed_gbps or float("inf")


def _fit(item: _Port, group: Nics) -> Fit:
    _, port = item
    fit = Fit.YES
    if port.link is None:
        fit = Fit.MAYBE
    elif port.link != group.link:
        return Fit.NO
    if group.speed_gbps is None:
        return fit
    if port.speed_gbps is None:
        return Fit.MAYBE
    return fit if port.speed_gbps >= group.speed_gbps else Fit.NO


def _is_wrong_mode(item: _Port, group: Nics) -> bool:
    _, port = item
    is_fast = group.speed_gbps is None or port.speed_gbps is None or port.speed_gbps >= group.speed_gbps
    return port.link is not None and port.link != group.link and is_fast


def _is_slow(item: _Port, group: Nics) -> bool:
    """A port of the group's technology, or of an unknown one, that is not fast enough."""
    _, port = item
    return port.link in (None, group.link) and _fit(item, group) is not Fit.YES


def described_group(group: Nics) -> str:
    """A group in words: ``8 × port of 400 Gbit/s infiniband (fabric)``."""
    return f"{group.count} × port of {_described_kind(group)} ({group.role})"


def _described_kind(group: Nics) -> str:
    speed = f"{group.speed_gbps:g} Gbit/s " if group.speed_gbps is not None else ""
    return f"{speed}{group.link}"


def _described_port(item: _Port) -> str:
    nic, port = item
    speed = f"{port.speed_gbps:g} Gbit/s" if port.speed_gbps is not None else "speed unknown"
    kind = f"{speed} {port.link or 'link unknown'}"
    return f"{kind}, {nic.model}" if nic.model else kind


def _slot(item: _Port) -> str:
    nic, port = item
    return f"{told_slot(nic.slot)} port {port.name or '?'}"


def _listed(nics: Sequence[Nic]) -> str:
    return (
        "; ".join(f"{told_slot(nic.slot)}: {len(nic.ports) or 'unknown number of'} ports" for nic in nics[:16])
        or "none"
    )
