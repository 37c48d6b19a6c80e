"""A discovery as tables for people and as JSON for programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from metalwright.cli.tables import print_table
from metalwright.matching.identity import serials_of
from metalwright.model.report import HardwareReport
from metalwright.redfish.discovery import Claimed, Discovery, Sighting


def sighting_line(sighting: Sighting) -> str:
    """One line of progress."""
    root = sighting.root
    who = " ".join(filter(None, (root.vendor, root.product))) if root is not None else ""
    machines = ", ".join(_machine(report) for report in sighting.reports)
    if sighting.hostless is not None:
        machines = f"{kind_text(sighting.hostless.kind)} {_machine(sighting.hostless.report)}"
    told = "; ".join(filter(None, (machines or who, sighting.error)))
    return f"{sighting.target.key} {sighting.outcome} ({sighting.seconds:.1f} s){': ' if told else ''}{told}"


def print_discovery(out: Console, found: Discovery) -> None:
    """Print what was found: claimed, unclaimed with text for the rack file, conflicts, missing, failures."""
    if found.claimed:
        table = Table(box=None, pad_edge=False)
        for name in ("node", "BMC", "machine", "serial", "agreeing keys", "login", "note"):
            table.add_column(name, no_wrap=name in ("node", "BMC", "serial"), overflow="fold")
        for item in found.claimed:
            table.add_row(*map(Text, _claimed_row(item)))
        print_table(out, table)
    for unclaimed in found.unclaimed:
        what = _what(unclaimed.sighting, unclaimed.report)
        out.print(Text(f"\nunclaimed: {what} at {unclaimed.sighting.target.key}; for a rack file:"))
        out.print(Text(unclaimed.yaml))
    for value in sorted(found.repeated):
        out.print(Text(f"\nrepeated: {value} is shown by several machines, so it tells none of them from another"))
    for conflict in found.conflicts:
        names = ", ".join(node.name for node in conflict.nodes)
        out.print(
            Text(f"\nconflict: {_machine(conflict.report)} at {conflict.report.bmc.address}: {conflict.why} ({names})")
        )
        for finding in conflict.findings:
            out.print(Text(f"  {finding.slot}: expected {finding.expected}, found {finding.found}"))
    if found.missing:
        out.print(Text(f"\nmissing: {', '.join(node.name for node in found.missing)}"))
    if found.not_swept:
        count = len(found.not_swept)
        some = ", ".join(node.name for node in found.not_swept[:3]) + (", …" if count > 3 else "")
        whose = "node whose address was" if count == 1 else "nodes whose addresses were"
        out.print(Text(f"\nnot looked for: {count} {whose} not swept ({some})"))
    for sighting in found.failures:
        out.print(Text(f"\nfailed: {sighting_line(sighting)}"))


def _claimed_row(item: Claimed) -> tuple[str, ...]:
    sighting, report = item.sighting, item.claim.report
    read = f"read at {sighting.read_at:%H:%M:%SZ}" if sighting.read_at is not None else ""
    notes = [item.error or "", read, "certificate pinned at first use" if item.is_first_pin else ""]
    notes += [f"{finding.code.removeprefix('identity-')} not given" for finding in item.claim.findings]
    return (
        item.claim.node.name,
        sighting.target.key,
        _what(sighting, report, with_serial=False) or "?",
        ", ".join(serials_of(report)) or "?",
        ", ".join(item.claim.keys),
        sighting.login or "none needed",
        "; ".join(filter(None, notes)),
    )


KIND_TEXTS = {"power-shelf": "power shelf", "switch": "switch", "dpu": "DPU", "other": "BMC without a host"}


def kind_text(kind: str) -> str:
    """The kind of a BMC without a host, in words."""
    return KIND_TEXTS.get(kind, kind)


def _what(sighting: Sighting, report: HardwareReport, *, with_serial: bool = True) -> str:
    """Kind (of equipment), maker, model and serial."""
    kind = kind_text(sighting.hostless.kind) if sighting.hostless is not None else None
    named = " ".join(filter(None, (report.system.manufacturer, report.system.model)))
    return " ".join(filter(None, (kind, _machine(report) if with_serial else named)))


def _machine(report: HardwareReport) -> str:
    words = (report.system.manufacturer, report.system.model, *serials_of(report)[:1])
    return " ".join(filter(None, words)) or f"system {report.system.id}"


def as_json(found: Discovery) -> dict[str, Any]:
    """The discovery as plain JSON types."""
    return {
        "schema": 1,
        "claimed": [_claimed_json(item) for item in found.claimed if not item.is_equipment],
        "equipment": [
            {**_claimed_json(item), "kind": _kind_of(item.sighting)} for item in found.claimed if item.is_equipment
        ],
        "unclaimed": [
            {**_place(item.sighting), **_identity(item.report), "kind": _kind_of(item.sighting), "yaml": item.yaml}
            for item in found.unclaimed
        ],
        "conflicts": [
            {
                **_identity(item.report),
                "address": item.report.bmc.address,
                "nodes": [node.name for node in item.nodes],
                "why": item.why,
                "findings": [finding.to_json() for finding in item.findings],
            }
            for item in found.conflicts
        ],
        "repeated": sorted(found.repeated),
        "missing": [
            {"node": node.name, "serial": node.serial, "uuid": node.uuid, "bmc_mac": node.bmc_mac}
            for node in found.missing
        ],
        "not_swept": [node.name for node in found.not_swept],
        "failed": [_failure_json(sighting) for sighting in found.failures],
        "others": [
            _failure_json(sighting)
            for sighting in found.sightings
            if not sighting.is_failure and not sighting.machines and sighting.outcome != "nothing"
        ],
    }


def _claimed_json(item: Claimed) -> dict[str, Any]:
    return {
        "node": item.claim.node.name,
        **_place(item.sighting),
        **_identity(item.claim.report),
        "keys": list(item.claim.keys),
        "login": item.sighting.login,
        "fingerprint": item.sighting.fingerprint,
        "pinned_now": item.is_first_pin,
        "read_at": item.sighting.read_at.isoformat() if item.sighting.read_at is not None else None,
        "findings": [finding.to_json() for finding in item.claim.findings],
        "error": item.error,
    }


def _failure_json(sighting: Sighting) -> dict[str, Any]:
    return {**_place(sighting), "outcome": sighting.outcome, "error": sighting.error, "seconds": sighting.seconds}


def _place(sighting: Sighting) -> dict[str, Any]:
    place = sighting.target.place
    return {"address": place.host, "port": place.port, "lease_mac": sighting.target.mac}


def _kind_of(sighting: Sighting) -> str | None:
    return sighting.hostless.kind if sighting.hostless is not None else None


def _identity(report: HardwareReport) -> dict[str, Any]:
    system = report.system
    return {
        "system": system.id,
        "manufacturer": system.manufacturer,
        "model": system.model,
        "serial": system.serial,
        "uuid": system.uuid,
        "bmc_macs": list(report.bmc.macs) if report.bmc.macs is not None else None,
    }
