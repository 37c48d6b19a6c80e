"""Drives by role: groups told apart by size and protocol, and the one disk that the image goes to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from metalwright.matching.groups import Fit, assign, fits_of, shortfalls
from metalwright.matching.identity import source_of
from metalwright.matching.look import RESEAT, Look
from metalwright.matching.names import told_slot
from metalwright.matching.slots import missing_slots
from metalwright.model.blueprint import Blueprint, Drives
from metalwright.model.finding import Finding
from metalwright.model.rack import Node
from metalwright.model.report import Drive, HardwareReport


def drive_findings(look: Look, wanted: Sequence[Drives]) -> Iterator[Finding]:
    """Every group must find its drives; further drives are no contradiction, the ramdisk writes none of them."""
    listed = look.report.drives
    if listed is None or (listed == () and look.report.cannot_see("drives")):
        yield look.unknown("drives", "; ".join(map(described_group, wanted)))
        return
    drives = sorted(listed, key=lambda drive: drive.size_bytes or float("inf"))
    counts = [group.count for group in wanted]
    table = fits_of(drives, wanted, drive_fit)
    if not any(short > 0 for short in shortfalls(assign(table, counts, Fit.YES), counts)):
        return
    best = assign(table, counts, Fit.MAYBE)
    short = shortfalls(best, counts)
    if not any(short):
        yield look.unknown("drives", "; ".join(map(described_group, wanted)), found=_listed(drives))
        return
    spare = [drive for index, drive in enumerate(drives) if index not in best]
    for number, (group, missing) in enumerate(zip(wanted, short, strict=True)):
        right = [drives[index] for index, owner in best.items() if owner == number]
        yield from _missing(look, group, missing, spare, right)


def _missing(look: Look, group: Drives, missing: int, spare: list[Drive], right: Sequence[Drive]) -> Iterator[Finding]:
    """First the drives that sit where the group's drives belong and are wrong, then what is simply not there."""
    kind = _described_kind(group)
    hint = look.would_do("drives", [] if right else [f"a drive that is {kind}"], [drive.model for drive in right])
    wrong = sorted((drive for drive in spare if _is_in_place(drive, group, right)), key=_slot_key)[:missing]
    for drive in wrong:
        spare.remove(drive)
        yield look.fail("drive-mismatch", drive.slot, f"{kind} ({group.role})", described_drive(drive), hint)
    if missing > len(wrong):
        taken = [drive.slot or "?" for drive in (*right, *wrong)]
        place = ", ".join(missing_slots(taken, group.count)) or None
        found = f"{len(right)} of {group.count}"
        yield look.fail("drive-missing", place, described_group(group), found, f"{hint}; {RESEAT}")


def _is_in_place(drive: Drive, group: Drives, right: Sequence[Drive]) -> bool:
    """Whether a drive that fits no group sits in a slot of this one's kind: same protocol, or same kind of slot."""
    if group.protocol is None or drive.protocol in (None, group.protocol) or not right:
        return True
    return _slot_family(drive) in {_slot_family(other) for other in right}


def _slot_family(drive: Drive) -> str:
    return re.sub(r"\d+", "#", drive.slot or "")


def _slot_key(drive: Drive) -> tuple[int, str]:
    return len(drive.slot or ""), drive.slot or ""


def drive_fit(drive: Drive, group: Drives) -> Fit:
    """Whether a drive belongs to a group. Sizes compare as bytes; a BMC that rounds may be off by less than 1 %."""
    fit = Fit.YES
    if group.protocol is not None:
        if drive.protocol is None:
            fit = Fit.MAYBE
        elif drive.protocol != group.protocol:
            return Fit.NO
    if drive.size_bytes is None:
        return Fit.MAYBE
    low, high = group.min_bytes * 0.99, (group.max_bytes or float("inf")) * 1.01
    return fit if low <= drive.size_bytes <= high else Fit.NO


def choose_system_disk(blueprint: Blueprint, node: Node, report: HardwareReport) -> str | None:
    """The serial number of the disk that the image goes to; ``None`` unless exactly one disk can be it.

    The rack file's ``system_disk`` decides; without it, the disk must be the only one that can play the role *system*
    while every other group still finds its drives. There is no fall-back.
    """
    candidates = system_disk_candidates(blueprint, node, report)
    return candidates[0].serial if candidates is not None and len(candidates) == 1 else None


def system_disk_candidates(blueprint: Blueprint, node: Node, report: HardwareReport) -> tuple[Drive, ...] | None:
    """The drives that can play the role *system*; ``None`` where the BMC's list cannot tell (a WWN is named)."""
    drives = report.drives
    if drives is None or (node.system_disk is not None and node.system_disk.serial is None):
        return None
    groups = blueprint.hardware.drives
    if node.system_disk is not None:
        named = node.system_disk.serial
        return tuple(drive for drive in drives if _is_named(drive, named))
    counts = [group.count for group in groups]
    system = groups.index(blueprint.system_drive)
    table = fits_of(drives, groups, drive_fit)
    full = sum(counts) - sum(shortfalls(assign(table, counts, Fit.YES), counts))
    return tuple(
        drive
        for index, drive in enumerate(drives)
        if table[index][system] is Fit.YES and len(assign(table, counts, Fit.YES, fixed={index: system})) == full
    )


def _is_named(drive: Drive, serial: str | None) -> bool:
    return serial is not None and drive.serial is not None and drive.serial.casefold() == serial.strip().casefold()


def system_disk_finding(blueprint: Blueprint, node: Node, report: HardwareReport) -> Finding | None:
    """Why no disk was chosen, or ``None`` if one was."""
    if choose_system_disk(blueprint, node, report) is not None:
        return None
    candidates = system_disk_candidates(blueprint, node, report)
    group = blueprint.system_drive
    expected = f"exactly one disk: {described_group(group)}"
    if node.system_disk is not None:
        expected = f"the disk {node.system_disk.serial or node.system_disk.wwn}"
    is_named_and_absent = (
        node.system_disk is not None
        and candidates == ()
        and bool(report.drives)
        and all(drive.serial is not None for drive in report.drives or ())
    )
    hint = "the ramdisk decides by the same rule and stops unless exactly one disk fits"
    if candidates and len(candidates) > 1:
        hint = f"name it in the rack file: system_disk: {{serial: {candidates[0].serial or '…'}}}"
    return Finding(
        code="system-disk",
        verdict="FAIL" if is_named_and_absent else "DEFERRED",
        slot=", ".join(drive.slot or "?" for drive in candidates or ()) or None,
        expected=expected,
        found=_listed(candidates) if candidates else _listed(report.drives or ()),
        source=source_of(report),
        hint="another disk sits in its place: name the new one in the rack file" if is_named_and_absent else hint,
    )


def described_group(group: Drives) -> str:
    """A group in words: ``8 × NVMe of at least 7.00 TB (scratch)``."""
    return f"{group.count} × {_described_kind(group)} ({group.role})"


def _described_kind(group: Drives) -> str:
    upper = f" and at most {_tb(group.max_bytes)}" if group.max_bytes is not None else ""
    return f"{group.protocol or 'any protocol'} of at least {_tb(group.min_bytes)}{upper}"


def described_drive(drive: Drive) -> str:
    """A drive in words."""
    size = _tb(drive.size_bytes) if drive.size_bytes is not None else "size unknown"
    return " ".join(text for text in (drive.protocol or "protocol unknown", size, drive.model) if text)


def _listed(drives: Sequence[Drive]) -> str:
    return "; ".join(f"{told_slot(drive.slot)}: {described_drive(drive)}" for drive in drives[:12]) or "no drive"


def _tb(size_bytes: int) -> str:
    return f"{size_bytes / 1e12:.2f} TB" if size_bytes >= 1e11 else f"{size_bytes / 1e9:.1f} GB"
