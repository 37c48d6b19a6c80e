"""What the programs that will read the files say of them: promtool and amtool, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from metalwright.monitoring.export import ALERTMANAGER, PROMETHEUS, RULE_TESTS

LIMIT_S = 120
CHECKS: tuple[tuple[str, ...], ...] = (
    ("promtool", "check", "config", PROMETHEUS),
    ("promtool", "test", "rules", RULE_TESTS),
    ("amtool", "check-config", ALERTMANAGER),
)


@dataclass(frozen=True)
class ProgramVerdict:
    """One check. ``verdict`` is ``NOT-RUN`` where the program is not installed; ``told`` is what it printed."""

    command: str
    verdict: str
    told: str


def check_with_programs(directory: Path) -> tuple[ProgramVerdict, ...]:
    """Let each program judge its file below ``directory``, where ``monitoring export`` wrote."""
    return tuple(_check(directory, words) for words in CHECKS)


def _check(directory: Path, words: tuple[str, ...]) -> ProgramVerdict:
    program = shutil.which(words[0])
    if program is None:
        return ProgramVerdict(" ".join(words), "NOT-RUN", f"{words[0]} is not installed")
    try:
        done = subprocess.run([program, *words[1:]], cwd=directory, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return ProgramVerdict(" ".join(words), "FAIL", f"no answer within {LIMIT_S} s")
    verdict = "PASS" if done.returncode == 0 else "FAIL"
    return ProgramVerdict(" ".join(words), verdict, (done.stdout + done.stderr).strip())
