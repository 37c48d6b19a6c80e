"""One machine of namespaces, and the network segment that the controller and its machines share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
BOOT_S = 60.0
PREFIX = "10.107"
"""Addresses inside the segment, which no other network sees."""


def can_run_machines() -> bool:
    """Whether this is a Linux root user with systemd and sshd to copy."""
    programs = all(shutil.which(name) for name in ("unshare", "nsenter", "ip", "sshd", "systemctl"))
    return os.geteuid() == 0 and programs and Path("/lib/systemd/systemd").exists()


@dataclass(frozen=True)
class Segment:
    """The controller's network namespace, and the memory that holds what its machines write."""

    holder: subprocess.Popen[str]
    state: Path
    machines: list[Machine] = field(default_factory=list)

    def on_controller(self, argv: Sequence[str]) -> list[str]:
        """``argv`` as a command in the controller's network namespace; files are those of this computer."""
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", *argv]

    def inside(self, argv: Sequence[str]) -> list[str]:
        """``argv`` where the machines' disks are mounted."""
        return ["nsenter", "--target", str(self.holder.pid), "--mount", "--net", *argv]

    def machine(self, name: str, *, setup: str = "", has_address: bool = True) -> Machine:
        """A new machine that is off; ``setup`` are lines of a shell script that runs in its root at the first boot."""
        machine = Machine(self, name, len(self.machines) + 1, has_address)
        self.machines.append(machine)
        script = (HERE / "setup.sh").read_text(encoding="utf-8") + setup
        machine.disk_script("mkdir -p {0} && cd {0} && mkdir up work root && cat > setup.sh", script)
        machine.disk_script("cat > {0}/cmdline", "root=PARTUUID=1 rw quiet\n")
        return machine


@dataclass
class Machine:
    """A machine by number: 10.107.N.2, and the controller at 10.107.N.1 on the other end of its cable."""

    segment: Segment
    name: str
    number: int
    has_address: bool = True
    init: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where its SSH service is."""
        return f"{PREFIX}.{self.number}.2"

    @property
    def mac(self) -> str:
        """Of its one port, ``host0``."""
        return f"52:54:00:6b:00:{self.number:02x}"

    def disk_script(self, script: str, text: str = "") -> str:
        """Run a shell line beside the machine's disk; ``{0}`` is its directory, ``text`` its standard input."""
        line = script.replace("{0}", str(self.segment.state / self.name))
        done = subprocess.run(
            self.segment.inside(["sh", "-ec", line]), input=text, text=True, capture_output=True, check=True
        )
        return done.stdout

    def boot(self) -> Machine:
        """Power on and wait until SSH answers (with an address) or the system is up."""
        self.disk_script("cat > {0}/boot_id", f"{uuid.uuid4()}\n")
        arguments = [str(self.segment.state / self.name), self.name, self.mac]
        arguments.append(f"{self.address}/24" if self.has_address else "")
        namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"]
        boot = self.segment.inside(["unshare", *namespaces, "bash", str(HERE / "boot.sh"), *arguments])
        log = Path(tempfile.gettempdir()) / f"machine-{os.getpid()}-{self.name}.log"
        with log.open("wb") as console:
            self.init = subprocess.Popen(boot, stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        try:
            self._plug_in(log)
            self._wait_for(["sh", "-c", "systemctl is-active machine.target && systemctl is-active ssh.service"], log)
        finally:
            log.unlink()
        return self

    def power_off(self) -> None:
        """Pull the plug."""
        if self.init is not None and self.init.poll() is None:
            self.init.send_signal(signal.SIGKILL)
            self.init.wait()
        self.init = None

    def wait_until_off(self, limit_s: float = 30.0) -> None:
        """Until the system has powered itself off, or asked for a restart, which is then for the test to do."""
        assert self.init is not None
        self.init.wait(limit_s)
        self.init = None

    def command(self, argv: Sequence[str]) -> list[str]:
        """``argv`` as a command inside the machine, as its root."""
        return ["nsenter", "--target", str(self._first_process()), "--all", *argv]

    def run(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a shell script inside the machine, past its network."""
        done = subprocess.run(self.command(["bash", "-c", script]), capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        return done

    def put(self, path: str, source: Path) -> None:
        """Copy a file or a directory of this computer to ``path`` inside the running machine."""
        pack = ["tar", "--create", "--directory", str(source if source.is_dir() else source.parent)]
        packed = subprocess.run(
            [*pack, "." if source.is_dir() else source.name], capture_output=True, check=True
        ).stdout
        where = path if source.is_dir() else str(Path(path).parent)
        unpack = ["sh", "-ec", f"mkdir -p {where} && tar --extract --no-same-owner --directory {where}"]
        subprocess.run(self.command(unpack), input=packed, check=True)

    def cable(self, state: str) -> None:
        """Set the controller's end of the cable ``up`` or ``down``."""
        subprocess.run(self.segment.on_controller(["ip", "link", "set", f"c{self.number}", state]), check=True)

    def _plug_in(self, log: Path) -> None:
        """A cable from the controller to the machine's ``host0``, once the machine has its own namespaces."""
        deadline = time.monotonic() + BOOT_S
        while (first := self._first_process()) == 0:
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8", errors="replace")
            time.sleep(0.02)
        near = f"c{self.number}"
        lines = (
            f"ip link del {near} 2>/dev/null || true",
            f"ip link add {near} type veth peer name host0 netns /proc/{first}/ns/net",
            f"ip address add {PREFIX}.{self.number}.1/24 dev {near}",
            f"ip link set {near} up",
        )
        subprocess.run(self.segment.on_controller(["sh", "-ec", "; ".join(lines)]), check=True)

    def _wait_for(self, argv: Sequence[str], log: Path) -> None:
        deadline = time.monotonic() + BOOT_S
        while True:
            done = subprocess.run(self.command(argv), capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            assert self.init is not None
            is_over = self.init.poll() is not None or time.monotonic() > deadline
            assert not is_over, f"{done.stdout}{done.stderr}{log.read_text(encoding='utf-8', errors='replace')}"
            time.sleep(0.1)

    def _first_process(self) -> int:
        """Its first process as this computer numbers it, once it has one in namespaces of its own; else 0."""
        assert self.init is not None
        children = Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children")
        try:
            return int(children.read_text().split()[0])
        except (OSError, IndexError):
            return 0


@contextmanager
def segment() -> Iterator[Segment]:
    """A segment without machines; all that are made in it are off at the end."""
    state = Path(tempfile.mkdtemp(prefix="machines-"))
    script = (
        f"mount --make-rprivate / && mount -t tmpfs tmpfs {state} && ip link set lo up && echo ready && exec sleep 3600"
    )
    holder = subprocess.Popen(
        ["unshare", "--mount", "--net", "--kill-child", "sh", "-ec", script], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    made = Segment(holder, state)
    try:
        yield made
    finally:
        for machine in made.machines:
            machine.power_off()
        holder.kill()
        holder.communicate()
        state.rmdir()
