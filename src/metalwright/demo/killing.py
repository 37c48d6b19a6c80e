"""``kill -9`` of a run at a random instant inside its image phase, and the same run taken up again.

What the demo shows with ``--kill SEED``: the same seed gives the same instants, counted in seconds from the first line
that the run prints about the image phase.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from metalwright.demo.shell import Shell, say
from metalwright.errors import LabError

LATEST_S = 60.0
"""Instants lie between 0 and this; a phase that ends sooner is killed at its end."""

STILL_HELD = "a child of it still works"
_IN_IMAGE = re.compile(r"^\s*[\d.]+s\s+\S+\s+image\s+(?P<done>ok in)?")
_ORPHANS_END_WITHIN_S = 120.0


class KillSchedule:
    """Which instant is next. Prints the seed, so that a failure can be repeated."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._random = random.Random(seed)  # noqa: S311 - repeatable, and no secret

    def next_instant_s(self) -> float:
        """Seconds from the beginning of the image phase."""
        return self._random.uniform(0, LATEST_S)


def run_killed_once(shell: Shell, schedule: KillSchedule, *arguments: str) -> Any:
    """Start the command, kill it inside the image phase, take the run up again; returns what ``resume --json`` says.

    Only the runner is killed: a child of it lives on for a while and keeps the node's lock. Raises :class:`LabError`
    when the command never reached the image phase, or the orphan outlives its time.
    """
    _kill_once(shell, schedule, arguments, lambda pid: pid, as_json=True)
    return _take_up(shell, ("resume", "--yes"), as_json=True)


def follow_killed_once(shell: Shell, schedule: KillSchedule, *arguments: str) -> None:
    """Follow a runbook, kill the run that it starts inside the image phase, and go on as the runbook says: again.

    Raises :class:`LabError` as :func:`run_killed_once`.
    """
    _kill_once(shell, schedule, arguments, _newest_child, as_json=False)
    _take_up(shell, arguments, as_json=False)


def _kill_once(
    shell: Shell, schedule: KillSchedule, arguments: Sequence[str], runner: Callable[[int], int], *, as_json: bool
) -> None:
    killer = _Killer(schedule.next_instant_s(), runner)
    code, _ = shell.run_watched(killer.see, *arguments, as_json=as_json)
    killer.cancel()
    if killer.killed_after_s is None or code == 0:
        raise LabError("the run ended before it could be killed", where=arguments[0], found=f"exit code {code}")
    say(
        f"seed {schedule.seed}: killed (kill -9) {killer.killed_after_s:.1f} s into the image phase; taking it up again"
    )


def _take_up(shell: Shell, arguments: Sequence[str], *, as_json: bool) -> Any:
    deadline = time.monotonic() + _ORPHANS_END_WITHIN_S
    while True:
        lines: list[str] = []
        code, answer = shell.run_watched(partial(_keep, lines), *arguments, as_json=as_json)
        if code == 0:
            return answer
        if not any(STILL_HELD in line for line in lines) or time.monotonic() > deadline:
            raise LabError(
                "a killed run cannot be taken up again",
                where=f"metalwright {' '.join(arguments)}",
                expected="exit code 0",
                found=f"exit code {code}",
                hint="its own message is above",
            )
        time.sleep(2)


def _newest_child(pid: int) -> int:
    """The process that this one started last; itself where it has none."""
    children = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _parent(path) == pid]
    return max(children, default=pid)


def _parent(process: Path) -> int | None:
    try:
        fields = (process / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None  # it has ended
    return int(fields[1])


def _keep(lines: list[str], _pid: int, line: str) -> None:
    lines.append(line)


class _Killer:
    def __init__(self, instant_s: float, runner: Callable[[int], int]) -> None:
        self._instant_s = instant_s
        self._runner = runner
        self._begun: float | None = None
        self._timer: threading.Timer | None = None
        self.killed_after_s: float | None = None

    def see(self, pid: int, line: str) -> None:
        """Look at a line of progress."""
        found = _IN_IMAGE.match(line)
        if found is None:
            return
        if self._begun is None:
            self._begun = time.monotonic()
            self._timer = threading.Timer(self._instant_s, self._kill, (pid,))
            self._timer.start()
        elif found["done"]:
            self._kill(pid)

    def cancel(self) -> None:
        """The process is gone: its number may soon be another's."""
        if self._timer is not None:
            self._timer.cancel()

    def _kill(self, pid: int) -> None:
        self.cancel()
        self.killed_after_s = time.monotonic() - (self._begun or time.monotonic())
        os.kill(self._runner(pid), signal.SIGKILL)
