"""A whole site over simulated machines that run the real deploy agent, driven through the real command line.

What a machine boots from its virtual CD is the agent of this checkout on file-backed disks; what it boots from its
disk is ``tiny_os.py``. Judged by disks, boot counts and the BMC's own log.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from metalwright.allocations import allocate_addresses
from metalwright.demo.site import BMC_PORT, SSH_PORT, DemoSite, Machine
from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.ramdisk import RamdiskRecipe, _base_digest, _base_dir
from metalwright.loading import SitePaths
from metalwright.model.image import Image
from metalwright.simulator.lab import Lab
from metalwright.simulator.status import LogEntry, MachineStatus

TINY_OS = Path(__file__).with_name("tiny_os.py")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHNcCyfQaIsYvj5Vs28P/uiJ5XBlQSJVoZP3faZZXyS operator"


@dataclass
class World:
    """One site with its lab up."""

    demo: DemoSite
    image: Image
    environment: dict[str, str]

    def cli(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``metalwright`` to its end, or to its death."""
        return subprocess.run(
            [sys.executable, "-m", "metalwright.cli", "--site", str(self.demo.root), *arguments],
            env={**os.environ, **self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

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
    """What differs from the ordinary world."""

    machines: tuple[Machine, ...] = (Machine("lab-1", 1),)
    changes: Mapping[str, Any] = field(default_factory=dict)


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
    image = ImageCatalogue(SitePaths(demo.root).images).add(source, name="tiny", version="1", file_sha256=sha256)
    demo.pin_image(image)
    allocate_addresses(demo.root, date(2026, 11, 30))
    cache = directory / "cache"
    _fake_base(cache)
    lab = Lab(demo.lab_dir)
    lab.up(demo.lab_spec(**{**_commands(demo), **options.changes}))
    try:
        made = World(demo, image, {"METALWRIGHT_CACHE": str(cache)})
        found = made.cli("discover", *(f"{demo.racked_bmc(machine)}:{BMC_PORT}" for machine in demo.machines))
        assert found.returncode == 0, found.stderr
        yield made
    finally:
        lab.down(wipe=True)


def _commands(demo: DemoSite) -> dict[str, Any]:
    """What the machines boot. All share one SSH address, so a world that boots a disk has one machine."""
    ssh_host = demo.ssh_host(demo.machines[0])
    agent = ["--media", "{media}", "--hardware", "{machine}", "--give-up-s", "20"]
    return {
        "backend": "memory",
        "boot_command": (sys.executable, "-m", "metalwright.imaging.agent", *agent),
        "disk_boot_command": (sys.executable, str(TINY_OS), "{machine}", ssh_host, str(SSH_PORT)),
    }


def _fake_base(cache: Path) -> None:
    """A ramdisk that nothing boots: the simulated machines run the agent themselves."""
    base = _base_dir(cache, _base_digest(RamdiskRecipe()))
    base.mkdir(parents=True)
    for name in ("vmlinuz", "initramfs"):
        (base / name).write_bytes(b"nothing boots this\n" * 64)
