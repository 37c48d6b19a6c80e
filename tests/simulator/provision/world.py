"""A whole site over simulated machines that run the real deploy agent, driven through the real command line.

What a machine boots from its virtual CD is the agent of this checkout on file-backed disks; what it boots from its
disk is ``tiny_os.py``. Judged by disks, boot counts and the BMC's own log.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from metalwright.allocations import allocate_addresses
from metalwright.demo.site import BLUEPRINT, BMC_PORT, SSH_PORT, DemoSite, Machine
from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.imaging.catalogue import ImageCatalogue, Provenance
from metalwright.imaging.image_trust import site_image_signer
from metalwright.imaging.ramdisk import RamdiskRecipe, _base_digest, _base_dir
from metalwright.journal.killing import LOG_VARIABLE
from metalwright.loading import SitePaths, load_site, release
from metalwright.model.image import Image
from metalwright.simulator.lab import Lab
from metalwright.simulator.spec import DiskSpec, LabSpec
from metalwright.simulator.status import LogEntry, MachineStatus

TINY_OS = Path(__file__).with_name("tiny_os.py")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHNcCyfQaIsYvj5Vs28P/uiJ5XBlQSJVoZP3faZZXyS operator"
CLI_TIMEOUT_S = 480
NOTE_DISK_TIMES = """\
for disk in "$0"/disks/*.raw; do echo "$(basename "$disk" .raw) $(stat -c %.9Y "$disk")"; done >>"$0/disk-times.log"
exec "$@"
"""
"""What a machine does before its ramdisk: it notes when each of its disks was last written."""
TWO_MACHINES = (Machine("lab-1", 1), Machine("lab-2", 2))


@dataclass
class World:
    """One site with its lab up."""

    demo: DemoSite
    image: Image
    environment: dict[str, str]
    timeout_s: float = CLI_TIMEOUT_S

    def kills(self) -> list[str]:
        """The points at which a process died since the lab is up, in order."""
        return [name for _, name, what, _ in self.passed_points() if what == "killed"]

    def passed_points(self) -> list[tuple[int, str, str, str]]:
        """Process, point, ``passed`` or ``killed``, and what tells points of one name apart; in order."""
        log = self.state / "kill-points.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [(int(pid), name, what, of) for pid, name, what, of in (line.split(" ", 3) for line in lines)]

    def cli(self, *arguments: str, only_runner: bool = False, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``metalwright`` to its end, or to its death."""
        name_pid = ["sh", "-c", 'METALWRIGHT_KILL_PID=$$ exec "$@"', "sh"] if only_runner else []
        return subprocess.run(
            [*name_pid, *self._command(arguments)],
            env={**os.environ, **self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            check=False,
        )

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start ``metalwright``; the caller waits for it."""
        return subprocess.Popen(
            self._command(arguments),
            env={**os.environ, **self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def provision(
        self, *options: str, nodes: Sequence[str] = ("lab-1",), only_runner: bool = False, **environment: str
    ) -> tuple[int, str]:
        """``provision NODES --until image --yes OPTIONS``: exit code, and all that it said.

        With ``only_runner`` a kill point counts for this process and not for its children.
        """
        arguments = ("provision", *nodes, "--until", "image", "--yes", *options)
        return self.run(*arguments, only_runner=only_runner, **environment)

    def run(self, *arguments: str, only_runner: bool = False, **environment: str) -> tuple[int, str]:
        """Run ``metalwright``; every failure must explain itself without a traceback."""
        done = self.cli(*arguments, only_runner=only_runner, **environment)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        assert "this is a fault of metalwright" not in said, said
        return done.returncode, said

    def pyinfra(self, deploy: str, *arguments: str) -> tuple[int, dict[str, Any] | None, str]:
        """Plain pyinfra on the first machine's BMC: exit code, its JSON, and what it said on stderr."""
        program = str(Path(sys.executable).with_name("pyinfra"))
        command = [program, "-y", "--json", "inventory/bmcs.py", f"deploys/{deploy}.py", "--limit", self.machine.name]
        done = subprocess.run(
            [*command, *arguments],
            cwd=self.demo.root,
            env={**os.environ, **self.environment, "PYINFRA_PROGRESS": "off"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CLI_TIMEOUT_S,
            check=False,
        )
        lines = done.stdout.strip().splitlines()
        result = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None
        return done.returncode, result, done.stderr

    def count(self, table: str) -> int:
        """How many rows a table of the journal has."""
        with closing(sqlite3.connect(f"file:{self.state / 'journal.sqlite'}?mode=ro", uri=True)) as connection:
            number: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
        return number

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "metalwright.cli", "--site", str(self.demo.root), *arguments]

    @property
    def machine(self) -> Machine:
        """The first machine."""
        return self.demo.machines[0]

    @property
    def lab(self) -> Lab:
        """The lab, for faults."""
        return Lab(self.demo.lab_dir)

    @property
    def state(self) -> Path:
        """The state directory of the site."""
        return self.demo.root / ".metalwright"

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a file of the site repository."""
        file = self.demo.root / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")

    def fill(self, machine: Machine, serial: str, data: bytes = b"somebody's work\n") -> str:
        """Write foreign data to the beginning of a disk; returns its digest."""
        with self.disk(machine, serial).open("r+b") as file:
            file.write(data * 1024)
        return self.sha256(machine, serial)

    def status(self, machine: Machine) -> MachineStatus:
        """The lab's view of a machine."""
        return Lab(self.demo.lab_dir).status().machine(machine.name)

    def disk(self, machine: Machine, serial: str) -> Path:
        """The file of a disk."""
        return Path(next(disk.path for disk in self.status(machine).disks if disk.serial == serial))

    def stamp(self, machine: Machine) -> Mapping[str, Any] | None:
        """The stamp on the system disk."""
        return decode_stamp(read_stamp_area(str(self.disk(machine, machine.system_disk))))

    def is_untouched(self, machine: Machine, serial: str) -> bool:
        """Whether nobody ever wrote to a disk: its file is one hole."""
        return self.disk(machine, serial).stat().st_blocks == 0

    def sha256(self, machine: Machine, serial: str, size_bytes: int = 64 << 20) -> str:
        """Digest of the beginning of a disk."""
        with self.disk(machine, serial).open("rb") as file:
            return hashlib.sha256(file.read(size_bytes)).hexdigest()

    def disk_writes(self, machine: Machine, serial: str) -> int:
        """How many ramdisks left a disk written, by the file of the disk alone: its time at the start of each, and now.

        What a test itself writes between two of them counts too.
        """
        log = Path(self.status(machine).directory, "disk-times.log")
        noted = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        now = self.disk(machine, serial).stat().st_mtime_ns
        times = [*(int(at.replace(".", "")) for name, at in noted if name == serial), now]
        return sum(before != after for before, after in pairwise(times))

    def boots(self, machine: Machine, kind: str) -> int:
        """How often the machine booted from ``cd`` or ``disk``."""
        return sum(count for name, count in self.status(machine).boots.items() if name.startswith(kind))

    def writes(self, machine: Machine) -> list[LogEntry]:
        """The requests that changed something on the BMC, logins and logouts left out."""
        entries = self.status(machine).requests
        return [entry for entry in entries if "Sessions" not in " ".join(entry.args)]

    def journal(self, machine: Machine) -> Any:
        """``metalwright journal NODE --json``."""
        return json.loads(self.cli("journal", machine.name, "--json").stdout)


@dataclass(frozen=True)
class Options:
    """What differs from the ordinary world.

    ``changes`` replace fields of every machine, ``bmc`` those of every machine's BMC; ``edits`` are (path in the site,
    old text, new text); ``methods`` are the ways to boot that the blueprint declares.
    Nothing answers on SSH after a boot from disk on the machines that ``silent`` names. ``small`` names machines whose
    system disk has 1 GiB only.
    """

    machines: tuple[Machine, ...] = (Machine("lab-1", 1),)
    changes: Mapping[str, Any] = field(default_factory=dict)
    bmc: Mapping[str, Any] = field(default_factory=dict)
    methods: tuple[str, ...] = ("virtual-media",)
    edits: tuple[tuple[str, str, str], ...] = ()
    silent: tuple[str, ...] = ()
    small: tuple[str, ...] = ()


@contextmanager
def world(
    directory: Path, loopback: str, image_file: tuple[Path, str], options: Options | None = None
) -> Iterator[World]:
    """Make a site, bring its lab up, and take it down again."""
    options = options or Options()
    demo = DemoSite(directory / "site", loopback, options.machines, controller="127.0.0.1")
    demo.create(KEY)
    state = demo.root / ".metalwright"
    state.mkdir(mode=0o700)
    (state / "factory-password").write_text("Factory-pass-1")
    source, sha256 = image_file
    image = add_image(demo.root, source, "1", sha256)
    blueprint = SitePaths(demo.root).blueprint(BLUEPRINT)
    declared = blueprint.read_text(encoding="utf-8").replace("[virtual-media]", f"[{', '.join(options.methods)}]")
    blueprint.write_text(declared, encoding="utf-8")
    demo.pin_image(image)
    made = World(demo, image, {"METALWRIGHT_CACHE": str(directory / "cache")})
    for path, old, new in options.edits:
        made.edit(path, old, new)
    if any(path.startswith("blueprints/") for path, _, _ in options.edits):
        release(demo.root, [BLUEPRINT], replace=True)
    allocate_addresses(demo.root, date(2026, 11, 30))
    _fake_base(directory / "cache")
    made.lab.up(_lab_spec(demo, options))
    try:
        found = made.cli("discover", *(f"{demo.racked_bmc(machine)}:{BMC_PORT}" for machine in demo.machines))
        assert found.returncode == 0, found.stderr
        made.environment[LOG_VARIABLE] = str(made.state / "kill-points.log")
        yield made
    finally:
        made.lab.down(wipe=True)


def add_image(root: Path, source: Path, version: str, file_sha256: str, name: str = "tiny") -> Image:
    """Take an image into the site's catalogue, vouched for by the site."""
    provenance = Provenance(signer=site_image_signer(root / ".metalwright"), comment="made by a test")
    catalogue = ImageCatalogue(SitePaths(root).images)
    return catalogue.add(source, name=name, version=version, file_sha256=file_sha256, provenance=provenance)


def _lab_spec(demo: DemoSite, options: Options) -> LabSpec:
    """What each machine boots: the agent from its CD, and from its disk an SSH server on its own address."""
    agent = (sys.executable, "-m", "metalwright.imaging.agent", "--media", "{media}", "--hardware", "{machine}")
    noting = ("sh", "-c", NOTE_DISK_TIMES, "{machine_dir}", *agent, "--give-up-s", "20")
    spec = demo.lab_spec(backend="memory", boot_command=noting, **options.changes)
    server = load_site(demo.root).site.boot_server
    script = f"http://{server.address_for_node}:{server.http_port}/pxe/boot.ipxe"
    spec = spec.model_copy(
        update={
            "machines": tuple(
                item.model_copy(
                    update={
                        "bmc": item.bmc.model_copy(update=options.bmc),
                        "disks": tuple(_disk_of(disk, is_small=item.name in options.small) for disk in item.disks),
                        "nics": tuple(nic.model_copy(update={"ipxe_script": script}) for nic in item.nics),
                    }
                )
                for item in spec.machines
            )
        }
    )
    tiny_os = (sys.executable, str(TINY_OS), "{machine}")
    machines = tuple(
        item
        if item.name in options.silent
        else item.model_copy(update={"disk_boot_command": (*tiny_os, demo.ssh_host(machine), str(SSH_PORT))})
        for item, machine in zip(spec.machines, demo.machines, strict=True)
    )
    return spec.model_copy(update={"machines": machines})


def _disk_of(disk: DiskSpec, *, is_small: bool) -> DiskSpec:
    return disk.model_copy(update={"size_bytes": 1 << 30}) if is_small and disk.note == "system" else disk


def _fake_base(cache: Path) -> None:
    """A ramdisk that nothing boots: the simulated machines run the agent themselves."""
    base = _base_dir(cache, _base_digest(RamdiskRecipe()))
    base.mkdir(parents=True)
    for name in ("vmlinuz", "initramfs"):
        (base / name).write_bytes(b"nothing boots this\n" * 64)
