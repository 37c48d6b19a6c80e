"""The seam between the agent and the machine: real hardware in the ramdisk, files on a workstation."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol

from metalwright.imaging.agent.boot_entries import EfiVariables, mounted_variables
from metalwright.imaging.agent.disks import read_disks
from metalwright.imaging.agent.erase import OVERWRITING, Beat, EraseMethod, erase_methods
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.grow import XFS, RootPartition
from metalwright.imaging.agent.identity import read_identity
from metalwright.imaging.agent.memberships import with_companions
from metalwright.imaging.agent.network import up_network
from metalwright.imaging.agent.records import Disk, Identity, Json, Network
from metalwright.imaging.agent.root_file_system import ImageFileRoot, RootFileSystem, mounted_root
from metalwright.imaging.agent.signatures import probe_content

_SETTLE_S: Final = 0.3
_DISK_WAIT_S: Final = 20.0


class Hardware(Protocol):
    """What the agent needs from a machine. ``work_dir`` is a place in memory for the image file."""

    work_dir: Path

    def up_network(self, network: Network | None) -> None:
        """Bring the network up."""

    def identity(self) -> Identity:
        """Return who this machine is."""

    def boot_id(self) -> str:
        """Return an id that is new at every boot."""

    def memory_bytes(self) -> int:
        """Return the size of the memory."""

    def available_bytes(self) -> int:
        """Return how much memory an image file may take now."""

    def disks(self) -> tuple[Disk, ...]:
        """Return all disks with what is on them now."""

    def erase_methods(self, disk: Disk) -> Sequence[EraseMethod]:
        """Return how the disk can be erased, best first."""

    def open_root(self, root: RootPartition) -> AbstractContextManager[RootFileSystem]:
        """Open the new root file system for writing."""

    def efi_variables(self) -> EfiVariables | None:
        """Return the firmware's variables; None where it has none."""


class RealHardware:
    """The machine that the ramdisk runs on."""

    def __init__(self, work_dir: Path) -> None:
        self.work_dir = work_dir

    def up_network(self, network: Network | None) -> None:
        """See :class:`Hardware`."""
        up_network(network)

    def identity(self) -> Identity:
        """See :class:`Hardware`."""
        return read_identity()

    def boot_id(self) -> str:
        """See :class:`Hardware`."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def memory_bytes(self) -> int:
        """See :class:`Hardware`."""
        return _meminfo_bytes("MemTotal")

    def available_bytes(self) -> int:
        """See :class:`Hardware`; two fifths are left for the rest of the work."""
        return _meminfo_bytes("MemAvailable") * 3 // 5

    def disks(self) -> tuple[Disk, ...]:
        """See :class:`Hardware`; waits until no new disk appears (drivers may still be looking)."""
        deadline = time.monotonic() + _DISK_WAIT_S
        names, stable_since = _block_names(), time.monotonic()
        while time.monotonic() < deadline and (not names or time.monotonic() - stable_since < _SETTLE_S):
            time.sleep(0.1)
            if (now := _block_names()) != names:
                names, stable_since = now, time.monotonic()
        return read_disks()

    def erase_methods(self, disk: Disk) -> Sequence[EraseMethod]:
        """See :class:`Hardware`."""
        return erase_methods(disk)

    def open_root(self, root: RootPartition) -> AbstractContextManager[RootFileSystem]:
        """See :class:`Hardware`."""
        return mounted_root(root, self.work_dir / "root")

    def efi_variables(self) -> EfiVariables | None:
        """See :class:`Hardware`."""
        return mounted_variables()


class FileHardware:
    """A machine described by a JSON file, its disks being files::

    {"identity": {"serial": "…", "uuid": "…", "macs": ["…"]}, "memory_bytes": 536870912, "boot_id": null,
     "work_dir": "/tmp/…", "efi_variables": "/tmp/…/efivars",
     "disks": [{"path": "/tmp/disk0.raw", "serial": "…", "wwn": null, "model": "…", "protocol": "NVMe",
                "read_only": false, "removable": false, "erase": null}]}

    ``erase`` gives a drive an erase of its own: ``honest``, one that ``refuses`` or one that ``lies``.
    """

    def __init__(self, description: Path) -> None:
        data: Json = json.loads(description.read_text())
        identity = data["identity"]
        self._identity = Identity(identity.get("serial"), identity.get("uuid"), tuple(identity.get("macs", ())))
        self._memory_bytes: int = data.get("memory_bytes", 1 << 30)
        self._boot_id: str = data.get("boot_id") or str(uuid.uuid4())
        self._disks: list[Json] = data["disks"]
        self._efi_variables: str | None = data.get("efi_variables")
        self.work_dir = Path(data.get("work_dir") or description.parent / "memory")
        self.work_dir.mkdir(exist_ok=True)

    def up_network(self, network: Network | None) -> None:
        """The workstation's network is up."""

    def identity(self) -> Identity:
        """See :class:`Hardware`."""
        return self._identity

    def boot_id(self) -> str:
        """See :class:`Hardware`."""
        return self._boot_id

    def memory_bytes(self) -> int:
        """See :class:`Hardware`."""
        return self._memory_bytes

    def available_bytes(self) -> int:
        """See :class:`Hardware`."""
        return self._memory_bytes * 3 // 5

    def disks(self) -> tuple[Disk, ...]:
        """See :class:`Hardware`."""
        return with_companions(tuple(_file_disk(disk) for disk in self._disks))

    def erase_methods(self, disk: Disk) -> Sequence[EraseMethod]:
        """See :class:`Hardware`; ``erase`` of a disk names drives with an erase of their own, honest or not."""
        told = next((item.get("erase") for item in self._disks if item["path"] == disk.path), None)
        return (_DRIVES[told](disk), OVERWRITING) if told else (OVERWRITING,)

    def open_root(self, root: RootPartition) -> AbstractContextManager[RootFileSystem]:
        """See :class:`Hardware`; no tool writes XFS unmounted, so it is mounted through a loop device, as root."""
        if root.kind == XFS:
            path = root.target.partition("?")[0]
            place = f"loop,offset={root.start_bytes},sizelimit={root.size_bytes}"
            return mounted_root(root._replace(target=path), self.work_dir / "root", place)
        return nullcontext(ImageFileRoot(root.target, self.work_dir))

    def efi_variables(self) -> EfiVariables | None:
        """See :class:`Hardware`: a directory with a file for each variable."""
        return EfiVariables(Path(self._efi_variables)) if self._efi_variables else None


def _honest(disk: Disk) -> EraseMethod:
    def erase(beat: Beat) -> None:
        beat()
        with Path(disk.path).open("r+b") as file:
            file.truncate(0)
            file.truncate(disk.size_bytes)

    return EraseMethod("simulated erase", erase, leaves_zeros=False)


def _refusing(disk: Disk) -> EraseMethod:
    def erase(beat: Beat) -> None:
        beat()
        raise AgentError("wipe", f"{disk.path}: simulated refusal", found="the drive is frozen", wrote=True)

    return EraseMethod("simulated erase that is refused", erase, leaves_zeros=False)


def _lying(disk: Disk) -> EraseMethod:
    del disk
    return EraseMethod("simulated erase that does nothing", lambda beat: beat(), leaves_zeros=False)


_DRIVES: Final = {"honest": _honest, "refuses": _refusing, "lies": _lying}


def _file_disk(data: Json) -> Disk:
    size_bytes = os.stat(data["path"]).st_size  # noqa: PTH116 - the path stays text, as the protocol has it
    return Disk(
        path=data["path"],
        serial=data.get("serial"),
        wwn=data.get("wwn"),
        model=data.get("model"),
        size_bytes=size_bytes,
        protocol=data.get("protocol"),
        read_only=data.get("read_only", False),
        removable=data.get("removable", False),
        content=probe_content(data["path"], size_bytes),
    )


def _block_names() -> frozenset[str]:
    return frozenset(entry.name for entry in Path("/sys/block").iterdir())


def _meminfo_bytes(key: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return 0
