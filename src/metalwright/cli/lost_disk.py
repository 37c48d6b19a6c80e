"""A system disk that was replaced or destroyed, settled within the one command that rebuilds the node.

Two questions, each asked where a person can look first: the serial number of a drive that the rack file does not name
yet, before anything is planned; and what is on a disk that does not carry our stamp, after the ramdisk has listed it.
Neither is answered by ``--yes``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import GrantError, MetalwrightError, PlanError
from metalwright.lifecycle import Failed
from metalwright.matching.replaced import owners_of, replaced_parts
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.drift import Replacement
from metalwright.model.report import HardwareReport
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.runner.replacing import write_replacements
from metalwright.workspace import Workspace

SYSTEM_DISK = ("system_disk", "serial")


@dataclass(frozen=True)
class NewDisk:
    """The drive that sits where the one that the rack file names was."""

    node: str
    replacement: Replacement
    told: str


def accept_new_disks(cli: CliContext, workspace: Workspace, nodes: Sequence[str], serials: Sequence[str]) -> bool:
    """Have a person confirm each new system disk, and write its serial number into the rack file; whether any was.

    ``serials`` were confirmed on the command line. Nothing is written before all are confirmed, and nothing at all
    where the machine leaves more than one answer: then the phase *match* stops, and says why.

    Raises:
        PlanError: a new disk, and nobody is there to confirm it; or a serial that is not that of a new disk.
        GrantError: not confirmed.
    """
    found = [disk for node in nodes if (disk := _new_disk(workspace, node)) is not None]
    unknown = sorted(set(serials) - {disk.replacement.becomes for disk in found})
    if unknown:
        raise PlanError(
            "no new system disk has this serial number",
            where=" ".join(nodes),
            expected=", ".join(disk.replacement.becomes for disk in found) or "none: no named system disk was replaced",
            found=", ".join(unknown),
            hint="leave --new-disk away; the command says what it sees",
        )
    for disk in found:
        _confirm_new(cli, disk, is_confirmed=disk.replacement.becomes in serials)
    for disk in found:
        written = write_replacements(workspace.paths, disk.node, [disk.replacement])
        cli.err.print(f"{disk.node}: {written.path} names the new disk now; commit it and have it reviewed")
        cli.err.print(written.diff, markup=False)
        workspace.journal.events.note(
            "new system disk confirmed",
            node=disk.node,
            why=f"{disk.replacement.was} → {disk.replacement.becomes}",
            detail=disk.replacement.to_json(),
        )
    return bool(found)


def _new_disk(workspace: Workspace, node: str) -> NewDisk | None:
    """What stands in for a named disk that is gone; None where the rack file names none, or nothing is certain."""
    declared = workspace.repository.node(node)
    if declared.system_disk is None or declared.system_disk.serial is None:
        return None
    try:
        report = BmcObserver(workspace, node).report()
    except MetalwrightError:
        return None  # the plan reads it again and says what is wrong
    parts = replaced_parts(declared, workspace.blueprint(node), report, owners_of(workspace.repository.nodes()))
    if parts.reasons or any(item.path != SYSTEM_DISK for item in parts.replacements):
        return None  # more than the disk is another: that is for `drift --accept` and a review
    return next((NewDisk(node, item, _told(report, item.becomes)) for item in parts.replacements), None)


def _told(report: HardwareReport, serial: str) -> str:
    drive = next(drive for drive in report.drives or () if drive.serial == serial)
    slot = f"slot {drive.slot}" if drive.slot else None
    size = f"{drive.size_bytes / 1e9:.0f} GB" if drive.size_bytes else None
    return ", ".join(part for part in (slot, drive.model, size) if part)


def _confirm_new(cli: CliContext, disk: NewDisk, *, is_confirmed: bool) -> None:
    was, becomes = disk.replacement.was, disk.replacement.becomes
    cli.err.print(f"NEW DISK: {disk.node}: {was} is gone; {becomes} ({disk.told}) is in its place", markup=False)
    if is_confirmed:
        return
    if not sys.stdin.isatty():
        raise PlanError(
            "the system disk that the rack file names is gone, and nobody is there to confirm the new one",
            where=disk.node,
            expected=was,
            found=f"{becomes} ({disk.told})",
            hint=f"compare it with the drive's label; then the same command with --new-disk {becomes}",
        )
    answer = typer.prompt(f"If the label of the new drive says so, type: {becomes}", err=True)
    if answer.strip() != becomes:
        raise GrantError("not confirmed; nothing was written", where=disk.node, expected=becomes, found=answer)


def confirm_foreign(cli: CliContext, failures: Mapping[str, Failed], *, yes: bool) -> tuple[str, ...]:
    """Show what the ramdisk found on disks that do not carry our stamp; the nodes that a person lets be overwritten.

    None where nobody is there to look, or ``yes`` said that nobody is to be asked.
    """
    foreign = {node: item for node, item in failures.items() if item.code == FailureCode.FOREIGN_DISK}
    if yes or not foreign or not sys.stdin.isatty():
        return ()
    agreed = []
    for node, failure in foreign.items():
        cli.err.print(f"\n{node}: {failure.what}; nothing was written. On it:", markup=False)
        for line in (failure.found or "nothing that could be told").split("; "):
            cli.err.print(f"  {line}", markup=False)
        wanted = f"overwrite {node}"
        answer = typer.prompt(f"If that may be destroyed, type: {wanted} (anything else stops)", err=True)
        if " ".join(answer.split()) == wanted:
            agreed.append(node)
    return tuple(agreed)
