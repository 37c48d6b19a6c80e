"""A report against a blueprint. Pure: no I/O, no clock."""

from __future__ import annotations

from metalwright.matching.counted import (
    cpu_findings,
    gpu_findings,
    health_findings,
    psu_findings,
    system_findings,
)
from metalwright.matching.drives import drive_findings, system_disk_finding
from metalwright.matching.identity import identity_matches
from metalwright.matching.look import look_at
from metalwright.matching.memory import memory_findings
from metalwright.matching.nics import nic_findings
from metalwright.model.blueprint import Blueprint
from metalwright.model.finding import Finding, MatchResult, overall
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport


def match(blueprint: Blueprint, report: HardwareReport, node: Node) -> MatchResult:
    """Compare what a BMC says is in a machine with what the blueprint wants in it.

    A contradiction is FAIL, something unknown is DEFERRED to a better witness; unknown never passes. A section that
    the blueprint leaves out is not checked.
    """
    wanted = blueprint.hardware
    look = look_at(blueprint, report, node)
    findings: list[Finding] = [*identity_matches(node, report), *system_findings(look, blueprint)]
    findings += cpu_findings(look, wanted.cpus)
    findings += memory_findings(look, wanted.memory)
    findings += gpu_findings(look, wanted.gpus) if wanted.gpus is not None else ()
    findings += nic_findings(look, wanted.nics)
    findings += drive_findings(look, wanted.drives)
    findings += psu_findings(look, wanted.psus) if wanted.psus is not None else ()
    findings += health_findings(look)
    findings += _system_disk(blueprint, report, node, findings)
    return MatchResult(node=node.name, verdict=overall(tuple(findings)), findings=tuple(findings))


def _system_disk(blueprint: Blueprint, report: HardwareReport, node: Node, findings: list[Finding]) -> list[Finding]:
    """Why no disk was chosen; nothing where the drives themselves are in doubt or wrong: those come first."""
    disk = system_disk_finding(blueprint, node, report)
    is_open = any(item.code in ("unknown-drives", "drive-mismatch", "drive-missing") for item in findings)
    return [] if disk is None or (is_open and disk.verdict == "DEFERRED") else [disk]
