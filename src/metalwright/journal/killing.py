"""Kill points: places where a test makes the process die as if somebody had sent ``kill -9``.

Every write of the journal passes two points, ``<write>.before`` and ``<write>.after``; the runner adds its own around
acts that leave the process. They do nothing unless the environment variable ``METALWRIGHT_KILL_AT`` is set:

- ``7``: the seventh point that this process reaches,
- ``begin_phase.after``: the first time that this point is reached,
- ``begin_phase.after:3``: the third time,
- ``each``: every point at which nobody has died yet, by what the log says: started again and again, a command dies once
  at each point on its way, until one run comes through; ``each:1/4``: of these the second quarter.

Child processes inherit the variable and count for themselves. ``METALWRIGHT_KILL_PID`` names the one process that is
meant, where only the parent shall die (``sh -c 'METALWRIGHT_KILL_PID=$$ exec metalwright …'``). Where
``METALWRIGHT_KILL_LOG`` names a file, each passing is a line there, ``PID NAME passed DETAIL`` or ``PID NAME killed
DETAIL``, so that a test can tell a kill from a run that never came by. The detail tells apart points of one name: the
phase, the state, the event.
"""

from __future__ import annotations

import os
import signal
import zlib
from collections import Counter
from pathlib import Path

KILL_VARIABLE = "METALWRIGHT_KILL_AT"
PID_VARIABLE = "METALWRIGHT_KILL_PID"
LOG_VARIABLE = "METALWRIGHT_KILL_LOG"

EACH = "each"

_reached: Counter[str] = Counter()


def kill_point(name: str, detail: str = "") -> None:
    """Pass the point ``name``; never returns when ``METALWRIGHT_KILL_AT`` means this passing."""
    wanted, log = os.environ.get(KILL_VARIABLE), os.environ.get(LOG_VARIABLE)
    if not (wanted or log) or os.environ.get(PID_VARIABLE, str(os.getpid())) != str(os.getpid()):
        return
    _reached[""] += 1
    _reached[name] += 1
    is_meant = bool(wanted) and _is_meant(wanted or "", name, detail, log)
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {name} {'killed' if is_meant else 'passed'} {detail}\n")
    if is_meant:
        os.kill(os.getpid(), signal.SIGKILL)


def _is_meant(wanted: str, name: str, detail: str, log: str | None) -> bool:
    if wanted.isdecimal():
        return _reached[""] == int(wanted)
    point, _, nth = wanted.partition(":")
    if point == EACH:
        return _is_new(name, detail, log, nth or "0/1")
    return point == name and str(_reached[name]) == (nth or "1")


def _is_new(name: str, detail: str, log: str | None, share: str) -> bool:
    part, _, parts = share.partition("/")
    if log is None or zlib.crc32(f"{name} {detail}".encode()) % int(parts) != int(part):
        return False
    file = Path(log)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return not any(line.partition(" ")[2] == f"{name} killed {detail}" for line in lines)
