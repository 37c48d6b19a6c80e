"""How the disks of a real machine can be erased, best first: what the drive promises, then plain overwriting.

A drive's own erase also reaches what an overwrite cannot: spare blocks, and sectors that were set aside. Which one a
drive has is asked of the drive (NVMe: Identify Controller and Namespace; ATA: IDENTIFY DEVICE, as ``hdparm`` shows it).
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.failures import AgentError, told_by_disk
from metalwright.imaging.agent.records import Disk
from metalwright.imaging.agent.tools import run_tool

Beat = Callable[[], None]
"""Called while a drive erases itself, so that the boot server hears of it."""

_BLKDISCARD: Final = 0x1277
_POLL_S: Final = 5.0
_SANITIZE_CRYPTO, _SANITIZE_BLOCK = 1, 2  # bits of SANICAP
_ACTION: Final = {_SANITIZE_BLOCK: "2", _SANITIZE_CRYPTO: "4"}  # SANACT
_SANITIZED: Final = (1, 4)  # SSTAT: completed; completed without deallocation
_SANITIZE_RUNS: Final = 2
_FORMATS, _CRYPTO_FORMATS = 2, 4  # bit of OACS; bit of FNA
_READS_ZEROS: Final = 1  # DLFEAT: what a deallocated block reads as
_PASSWORD: Final = "metalwright"  # noqa: S105 - ATA wants one for an erase and forgets it with it
OVERWRITE: Final = "overwritten with zeros"


class EraseMethod(NamedTuple):
    """``run`` erases the disk and returns when it has. ``leaves_zeros``: every byte reads as zero afterwards."""

    name: str
    run: Callable[[Beat], None] | None
    leaves_zeros: bool


OVERWRITING: Final = EraseMethod(OVERWRITE, None, leaves_zeros=True)
"""Every byte is written by us; what every disk can do."""


def erase_methods(disk: Disk) -> tuple[EraseMethod, ...]:
    """Return what this disk can do, best first; the last one is always overwriting."""
    kinds = {"NVMe": _nvme_methods, "SATA": _ata_methods}
    own = kinds.get(disk.protocol or "")
    try:
        return (*(own(disk) if own is not None else ()), OVERWRITING)
    except AgentError as error:
        say(f"{disk.path} does not tell how it can be erased: {error.found}")
        return (OVERWRITING,)


def _nvme_methods(disk: Disk) -> Iterator[EraseMethod]:
    controller = re.sub(r"n\d+$", "", disk.path)
    facts = _facts(["nvme", "id-ctrl", controller, "-o", "json"])
    space = _facts(["nvme", "id-ns", disk.path, "-o", "json"])
    for bit, name in (
        (_SANITIZE_BLOCK, "NVMe sanitize, block erase"),
        (_SANITIZE_CRYPTO, "NVMe sanitize, crypto erase"),
    ):
        if facts.get("sanicap", 0) & bit:
            yield EraseMethod(name, partial(_sanitize, controller, _ACTION[bit]), leaves_zeros=False)
    if facts.get("oacs", 0) & _FORMATS:
        yield EraseMethod("NVMe format, user data erase", partial(_format, disk.path, "1"), leaves_zeros=False)
        if facts.get("fna", 0) & _CRYPTO_FORMATS:
            yield EraseMethod("NVMe format, crypto erase", partial(_format, disk.path, "2"), leaves_zeros=False)
    if space.get("dlfeat", 0) & 7 == _READS_ZEROS:
        yield EraseMethod("discarded, and the drive promises zeros", partial(_discard, disk), leaves_zeros=True)


def _ata_methods(disk: Disk) -> Iterator[EraseMethod]:
    told = run_tool(["hdparm", "-I", disk.path], code="wipe", wrote=False)
    security = told.partition("Security:")[2]
    can_erase = re.search(r"^\s+supported$", security, re.MULTILINE) is not None
    is_free = all(re.search(rf"^\s+not\s+{word}$", security, re.MULTILINE) for word in ("enabled", "locked", "frozen"))
    if can_erase and is_free:
        if re.search(r"^\s+supported: enhanced erase$", security, re.MULTILINE):
            enhanced = partial(_ata_erase, disk.path, "--security-erase-enhanced")
            yield EraseMethod("ATA secure erase, enhanced", enhanced, leaves_zeros=False)
        yield EraseMethod("ATA secure erase", partial(_ata_erase, disk.path, "--security-erase"), leaves_zeros=False)
    if re.search(r"Deterministic read ZEROs after TRIM", told):
        yield EraseMethod("discarded, and the drive promises zeros", partial(_discard, disk), leaves_zeros=True)


def _sanitize(controller: str, action: str, beat: Beat) -> None:
    run_tool(["nvme", "sanitize", controller, "-a", action], code="wipe")
    while True:
        told = run_tool(["nvme", "sanitize-log", controller], code="wipe")
        found = re.search(r"\(SSTAT\)\s*:\s*(?:0x)?([0-9A-Fa-f]+)", told)
        status = int(found[1], 16) & 7 if found else -1
        if status in _SANITIZED:
            return
        if status != _SANITIZE_RUNS:
            raise AgentError(
                "wipe", f"{controller}: the sanitize operation failed", found=told.strip()[-500:], wrote=True
            )
        beat()
        time.sleep(_POLL_S)


def _format(path: str, erase: str, beat: Beat) -> None:
    beat()
    run_tool(["nvme", "format", path, f"--ses={erase}", "--force", "--timeout=7200000"], code="wipe")


def _ata_erase(path: str, option: str, beat: Beat) -> None:
    beat()
    run_tool(["hdparm", "--user-master", "u", "--security-set-pass", _PASSWORD, path], code="wipe")
    run_tool(["hdparm", "--user-master", "u", option, _PASSWORD, path], code="wipe")


def _discard(disk: Disk, beat: Beat) -> None:
    beat()
    fd = os.open(disk.path, os.O_RDWR | os.O_EXCL)
    try:
        fcntl.ioctl(fd, _BLKDISCARD, struct.pack("QQ", 0, disk.size_bytes))
    except OSError as error:
        raise AgentError("wipe", f"{disk.path} cannot be discarded", found=told_by_disk(error), wrote=True) from error
    finally:
        os.close(fd)


def _facts(argv: list[str]) -> dict[str, Any]:
    try:
        facts = json.loads(run_tool(argv, code="wipe", wrote=False))
    except ValueError:
        facts = None
    return facts if isinstance(facts, dict) else {}
