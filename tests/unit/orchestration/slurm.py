"""A real Slurm controller over exported files, in a network namespace of its own; no node ever answers it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

CONFIGURATION = """ClusterName=site
SlurmctldHost=localhost(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/pid
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
AccountingStorageType=accounting_storage/none
include {directory}/nodes.conf
PartitionName=all Nodes=ALL Default=YES
"""


@dataclass(frozen=True)
class Slurm:
    """A controller that runs; ``wrap`` turns a command into one that reaches it."""

    directory: Path
    holder: int

    def wrap(self, argv: Sequence[str]) -> list[str]:
        return ["nsenter", f"--net=/proc/{self.holder}/ns/net", *argv]

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.directory / "slurm.conf"), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def run(self, *argv: str) -> str:
        done = subprocess.run(self.wrap(argv), env=self.environment, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def state(self, node: str) -> str:
        shown = self.run("scontrol", "--oneliner", "show", "node", node)
        return next(word for word in shown.split() if word.startswith("State=")).removeprefix("State=")


@contextmanager
def controller(directory: Path, files: Mapping[str, str]) -> Iterator[Slurm]:
    """Run slurmctld over ``files`` (their names without a directory); skips where it is not installed."""
    if not shutil.which("slurmctld", path="/usr/sbin:/usr/bin") or not shutil.which("scontrol"):
        pytest.skip("slurmctld is not installed here")
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode:
        pytest.skip("a network namespace needs root")
    for name, text in files.items():
        (directory / name).write_text(text)
    for name in ("state", "spool"):
        (directory / name).mkdir()
    (directory / "slurm.conf").write_text(CONFIGURATION.format(directory=directory))
    network = "ip link set lo up && ip address add 10.30.0.250/16 dev lo"
    script = f"{network} && exec slurmctld -D -c -f {directory}/slurm.conf"
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(["unshare", "--net", "sh", "-ec", script], stdout=log, stderr=log)
        slurm = Slurm(directory, process.pid)
        try:
            _wait(slurm, directory / "log")
            yield slurm
        finally:
            process.kill()
            process.wait()


def _wait(slurm: Slurm, log: Path) -> None:
    end = time.monotonic() + 30
    ping = slurm.wrap(["scontrol", "ping"])
    while time.monotonic() < end:
        done = subprocess.run(ping, env=slurm.environment, capture_output=True, text=True)
        if done.returncode == 0 and "UP" in done.stdout:
            return
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace"))
