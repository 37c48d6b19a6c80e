"""Drives whose reads and writes really fail: the kernel reports what nbdkit's error filter injects behind a FUSE file.

``test_bad_disks.py`` has more ways to fail, made inside of the agent; ``tests/lab/test_disks.py`` has a drive of QEMU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.imaging.test_agent_flow import content, read_root

from metalwright.imaging.agent.stamp import PARTIAL_MAGIC, decode_stamp, read_stamp_area
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.deployment import DeploymentState

MIB = 1 << 20
CAN_RUN = os.geteuid() == 0 and all(map(shutil.which, ("nbdkit", "nbdfuse"))) and Path("/dev/fuse").exists()
pytestmark = pytest.mark.skipif(not CAN_RUN, reason="drives that fail need root, FUSE, nbdkit and nbdfuse")


@dataclass
class Drive:
    """``path`` is the drive as the agent sees it; it fails from when ``fail`` was called."""

    path: Path
    trigger: Path

    def fail(self) -> None:
        """From now on what is injected is injected."""
        self.trigger.touch()


@contextmanager
def drive(backing: Path, call: str, directory: Path) -> Iterator[Drive]:
    """The file ``backing`` as a drive whose every ``call`` (``pread`` or ``pwrite``) can be made to fail."""
    directory.mkdir()
    made = Drive(directory / backing.name, directory / "fails")
    made.path.touch()
    socket = directory / "nbd"
    errors = [f"error-{call}=EIO", f"error-{call}-rate=100%", f"error-{call}-file={made.trigger}"]
    server = ["nbdkit", "--foreground", "--exit-with-parent", "--filter=error", "--unix", str(socket)]
    with ExitStack() as stack:
        stack.enter_context(running([*server, "file", str(backing), *errors]))
        wait_for(socket.exists)
        stack.enter_context(running(["nbdfuse", str(made.path), "--unix", str(socket)]))
        wait_for(lambda: made.path.stat().st_size > 0)
        stack.callback(subprocess.run, ["umount", "--lazy", str(made.path)], check=True)
        yield made


@contextmanager
def running(argv: list[str]) -> Iterator[None]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=20)


def wait_for(is_there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_there():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(("call", "code"), [("pwrite", FailureCode.WRITE), ("pread", FailureCode.READ_BACK)])
async def test_a_drive_that_fails_under_the_write_is_never_ready_and_one_more_attempt_brings_it_back(
    bench: Any, call: str, code: FailureCode, tmp_path: Path
) -> None:
    disk = bench.add_disk("system")
    with drive(Path(disk["path"]), call, tmp_path / "drive") as failing:
        prepared = bench.prepare()
        run = await bench.boot(
            bench.config(prepared),
            {**disk, "path": str(failing.path)},
            on_line=lambda line: failing.fail() if "go (lease" in line else None,
        )
    deployment = bench.deployment(prepared)
    assert run.exit_code == 1
    assert deployment.state is DeploymentState.FAILED, run.console
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (code, True)
    assert deployment.failure.found == "Input/output error"
    assert decode_stamp(read_stamp_area(disk["path"])) is None
    if call == "pwrite":
        assert not any(content(disk)[: MIB // 2]), "no partition table: it does not boot"
    else:  # all of it is there, and nothing proves that: it is marked as written in part
        assert decode_stamp(read_stamp_area(disk["path"]), PARTIAL_MAGIC) is not None

    run, deployment = await bench.deploy(disk, run="run-2")
    assert run.exit_code == 0, run.console
    assert deployment.state is DeploymentState.DONE
    assert read_root(disk, "/etc/hostname") == "lab-1\n"
