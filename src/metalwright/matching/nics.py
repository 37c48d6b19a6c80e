"""Network ports by role, told apart by speed and link technology, and the ports that the rack file names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metalwright.matching.counted import Look
from metalwright.matching.groups import Fit, assign, fits_of, shortfalls
from metalwright.model.blueprint import Nics
from metalwright.model.finding import Finding
from metalwright.model.rack import Node
from metalwright.model.report import Nic, NicPort

_Port = tuple[Nic, NicPort]


def nic_findings(look: Look, wanted: Sequence[Nics], node: Node) -> Iterator[Finding]:
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
    yield from _named_ports(look, node, ports)


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
    for group, missing in zip(wanted, short, strict=True):
        for _ in range(missing):
            yield _missing(look, group, spare, ports)


def _missing(look: Look, group: Nics, spare: list[_Port], ports: Sequence[_Port]) -> Finding:
    wrong_mode = next((item for item in spare if _is_wrong_mode(item, group)), None)
    if wrong_mode is not None:
        spare.remove(wrong_mode)
        found = _described_port(wrong_mode)
        return look.fail("nic-link", _slot(wrong_mode), described_group(group), found, "set the port's link type")
    right = [nic.model for nic, port in ports if _fit((nic, port), group) is not Fit.NO]
    hint = look.would_do("nics", [], right)
    if spare:
        wrong = spare.pop(0)
        return look.fail("nic-mismatch", _slot(wrong), described_group(group), _described_port(wrong), hint)
    return look.fail("nic-missing", None, described_group(group), f"{len(right)} of {group.count} ports", hint)


def _named_ports(look: Look, node: Node, ports: Sequence[_Port]) -> Iterator[Finding]:
    macs = {port.mac for _, port in ports}
    for wanted in node.ports:
        if wanted.mac in macs:
            continue
        expected = f"a port with MAC {wanted.mac} ({wanted.role})"
        if None in macs or any(not nic.ports for nic in look.report.nics or ()):
            yield look.unknown("nic-mac", expected)
        else:
            hint = "the card was replaced, or the rack file names another machine's port"
            yield look.fail("nic-mac", None, expected, ", ".join(sorted(filter(None, macs))) or "no port", hint)


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


def described_group(group: Nics) -> str:
    """A group in words: ``8 × infiniband port of 400 Gbit/s (fabric)``."""
    speed = f" of {group.speed_gbps:g} Gbit/s" if group.speed_gbps is not None else ""
    return f"{group.count} × {group.link} port{speed} ({group.role})"


def _described_port(item: _Port) -> str:
    nic, port = item
    speed = f"{port.speed_gbps:g} Gbit/s" if port.speed_gbps is not None else "speed unknown"
    return " ".join(text for text in (port.link or "link unknown", speed, nic.model) if text)


def _slot(item: _Port) -> str:
    nic, port = item
    return f"{nic.slot or '?'} port {port.name or '?'}"


def _listed(nics: Sequence[Nic]) -> str:
    return "; ".join(f"{nic.slot or '?'}: {len(nic.ports) or 'unknown number of'} ports" for nic in nics[:16]) or "none"
