"""One writer a node: whoever holds the kernel's lock, and nobody because of what a file says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metalwright.errors import JournalError, LockHeldError
from metalwright.journal.locks import NodeLock, child_environment

HOLDER = """
import os, sys, time
from pathlib import Path
from metalwright.errors import LockHeldError
from metalwright.journal.locks import NodeLock
lock = NodeLock(Path(sys.argv[1]), "lab-1")
try:
    lock.acquire("r1")
except LockHeldError:
    print("held", flush=True)
    sys.exit(3)
print("inherited" if lock.holder().pid != os.getpid() else "taken", flush=True)
time.sleep(float(sys.argv[2]))
"""

PARENT = """
import os, subprocess, sys
from pathlib import Path
from metalwright.journal.locks import NodeLock, child_environment
lock = NodeLock(Path(sys.argv[1]), "lab-1").acquire("r1")
child = subprocess.Popen(
    [sys.executable, "-c", sys.argv[2], sys.argv[1], "60"],
    pass_fds=[lock.descriptor], env={**os.environ, **child_environment([lock])}, stdout=subprocess.PIPE, text=True,
)
print(child.stdout.readline().strip(), child.pid, flush=True)
child.wait()
"""


def _start(state_dir: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(state_dir), str(seconds)], stdout=subprocess.PIPE, text=True
    )


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_st_03_the_second_is_told_who_holds_it_and_since_when(state_dir: Path) -> None:
    """Locks a node by an open file that the kernel frees when its processes die; what the file says locks nothing."""
    process = _start(state_dir, 60)
    try:
        assert _said(process) == "taken"
        with pytest.raises(LockHeldError) as caught:
            NodeLock(state_dir, "lab-1").acquire()
        assert caught.value.found is not None
        assert f"pid {process.pid}, run r1, since 20" in caught.value.found
        NodeLock(state_dir, "lab-2").acquire().release()
    finally:
        _end(process)


def test_st_03_death_frees_the_lock_at_once(state_dir: Path) -> None:
    process = _start(state_dir, 60)
    assert _said(process) == "taken"
    _end(process)
    with NodeLock(state_dir, "lab-1") as lock:
        assert lock.is_held


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 64,
        b'{"node": "lab-1", "pi',
        b'{"node":"lab-1","run":null,"by":"x@y","host":"y","pid":1,"since":"2026-01-01T00:00:00Z"}',
    ],
    ids=["empty", "zeros", "torn", "a living foreign pid"],
)
def test_st_03_what_a_file_says_locks_nothing(state_dir: Path, content: bytes) -> None:
    lock = NodeLock(state_dir, "lab-1")
    lock.path.parent.mkdir(parents=True)
    lock.path.write_bytes(content)
    lock.acquire("r2")
    holder = lock.holder()
    assert holder is not None
    assert (holder.pid, holder.run) == (os.getpid(), "r2")
    lock.release()


def test_st_03_of_eight_that_race_for_a_stale_file_one_wins(state_dir: Path) -> None:
    path = NodeLock(state_dir, "lab-1").path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    processes = [_start(state_dir, 60) for _ in range(8)]
    try:
        said = sorted(_said(process) for process in processes)
    finally:
        for process in processes:
            _end(process)
    assert said == ["held"] * 7 + ["taken"]


def test_st_03_an_orphaned_child_keeps_the_node(state_dir: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(state_dir), HOLDER], stdout=subprocess.PIPE, text=True)
    said, _, child = _said(parent).partition(" ")
    try:
        assert said == "inherited"
        _end(parent)
        with pytest.raises(LockHeldError) as caught:
            NodeLock(state_dir, "lab-1").acquire()
        assert f"pid {parent.pid}" in str(caught.value.found)
        assert "a child of it still works" in str(caught.value.found)
    finally:
        os.kill(int(child), signal.SIGKILL)
    NodeLock(state_dir, "lab-1").acquire(wait_s=10).release()


def test_a_child_that_ends_does_not_free_its_parents_lock(state_dir: Path) -> None:
    with NodeLock(state_dir, "lab-1") as lock:
        subprocess.run(
            [sys.executable, "-c", HOLDER, str(state_dir), "0"],
            pass_fds=[lock.descriptor],
            env={**os.environ, **child_environment([lock])},
            check=True,
        )
        other = _start(state_dir, 0)
        assert other.communicate(timeout=60)[0].strip() == "held"


def test_a_false_promise_in_the_environment_holds_nothing(state_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = _start(state_dir, 60)
    try:
        assert _said(process) == "taken"
        for number in ("0", "999", "-1", "x", str(os.open(NodeLock(state_dir, "lab-1").path, os.O_RDWR))):
            monkeypatch.setenv("METALWRIGHT_LOCK_FDS", f"lab-1:{number},lab-2:")
            with pytest.raises(LockHeldError):
                NodeLock(state_dir, "lab-1").acquire()
            if number.isdecimal() and int(number) > 2 and number != "999":
                os.close(int(number))
    finally:
        _end(process)


def test_waiting_is_bounded(state_dir: Path) -> None:
    with NodeLock(state_dir, "lab-1"):
        started = time.monotonic()
        with pytest.raises(LockHeldError):
            NodeLock(state_dir, "lab-1").acquire(wait_s=0.3)
        assert 0.3 <= time.monotonic() - started < 5


@pytest.mark.parametrize("name", ["../journal", "", ".", "a/b", "a:b"])
def test_a_name_cannot_lead_out_of_the_lock_directory(state_dir: Path, name: str) -> None:
    with pytest.raises(JournalError):
        NodeLock(state_dir, name)
