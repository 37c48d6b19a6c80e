"""The new root file system, as a place to put files: mounted in the ramdisk, through debugfs for file-backed disks."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.grow import XFS, RootPartition
from metalwright.imaging.agent.tools import run_tool

HOST_KEY_PATH: Final = "/etc/ssh/ssh_host_ed25519_key"
_LABEL: Final = "security.selinux"


class RootFileSystem(Protocol):
    """Where the seed goes."""

    def write_file(self, path: str, text: str, mode: int) -> None:
        """Write ``text`` to the absolute ``path``, owned by root, replacing a file or a link; parents are made."""

    def make_ssh_host_key(self) -> str:
        """Make the node's Ed25519 host key in place and return its public half."""


class MountedRoot:
    """The root file system mounted at ``top``.

    Where its files carry labels of SELinux, a file gets that of the one which it replaces, else that of its directory:
    a system that enforces SELinux could not read it otherwise.
    """

    def __init__(self, top: Path) -> None:
        self._top = top

    def write_file(self, path: str, text: str, mode: int) -> None:
        """See :class:`RootFileSystem`."""
        target = self._top / path.lstrip("/")
        for parent in reversed(target.relative_to(self._top).parents):
            directory = self._top / parent
            if not directory.is_dir():
                directory.mkdir()
                _set_label(directory, _label(directory.parent))
        label = _label(target) or _label(target.parent)
        target.unlink(missing_ok=True)
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(text)
            os.fchmod(file.fileno(), mode)
        _set_label(target, label)

    def make_ssh_host_key(self) -> str:
        """See :class:`RootFileSystem`; the image's own ssh-keygen makes it."""
        key = self._top / HOST_KEY_PATH.lstrip("/")
        public = key.with_name(f"{key.name}.pub")
        labels = {path: _label(path) or _label(path.parent) for path in (key, public)}
        key.unlink(missing_ok=True)
        keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", HOST_KEY_PATH]
        with _devices_in(self._top):
            run_tool(["chroot", str(self._top), *keygen], code="seed")
        for path, label in labels.items():
            _set_label(path, label)
        return public.read_text().strip()


@contextlib.contextmanager
def _devices_in(top: Path) -> Iterator[None]:
    """Devices for programs of the image: not every image brings its own ``/dev/null``, and ssh-keygen wants it."""
    place = top / "dev"
    place.mkdir(exist_ok=True)
    run_tool(["mount", "--bind", "/dev", str(place)], code="seed")
    try:
        yield
    finally:
        run_tool(["umount", str(place)], code="seed")


def _label(path: Path) -> bytes | None:
    try:
        return os.getxattr(path, _LABEL, follow_symlinks=False)
    except OSError:
        return None  # no such file, no label, or a file system without labels


def _set_label(path: Path, label: bytes | None) -> None:
    if label is not None:
        os.setxattr(path, _LABEL, label, follow_symlinks=False)


@contextlib.contextmanager
def mounted_root(root: RootPartition, mount_point: Path, options: str = "rw") -> Iterator[MountedRoot]:
    """Mount the root partition, and grow it where it is XFS; unmount it whatever happens, which also flushes it."""
    mount_point.mkdir(parents=True, exist_ok=True)
    run_tool(["mount", "-t", root.kind, "-o", options, root.target, str(mount_point)], code="seed")
    try:
        if root.kind == XFS:
            run_tool(["xfs_growfs", "-d", str(mount_point)], code="seed")
        yield MountedRoot(mount_point)
    finally:
        run_tool(["umount", str(mount_point)], code="seed")


class ImageFileRoot:
    """The root file system inside a disk file, written without privileges by ``debugfs``."""

    def __init__(self, target: str, work_dir: Path) -> None:
        self._target = target
        self._work_dir = work_dir

    def write_file(self, path: str, text: str, mode: int) -> None:
        """See :class:`RootFileSystem`."""
        with tempfile.NamedTemporaryFile("w", dir=self._work_dir) as source:
            source.write(text)
            source.flush()
            parents = [str(parent) for parent in reversed(PurePosixPath(path).parents)][1:]
            commands = [f'mkdir "{parent}"' for parent in parents]
            commands += [f'rm "{path}"', f'write "{source.name}" "{path}"']
            commands += [f'sif "{path}" mode 0{0o100000 | mode:o}', f'sif "{path}" uid 0', f'sif "{path}" gid 0']
            self._debugfs("\n".join(commands))
        if self._read(path) != text:
            raise AgentError("seed", f"{path} is not in the root file system after writing it", wrote=True)

    def make_ssh_host_key(self) -> str:
        """See :class:`RootFileSystem`; this machine's ssh-keygen makes it."""
        with tempfile.TemporaryDirectory(dir=self._work_dir) as directory:
            key = Path(directory) / "key"
            run_tool(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], code="seed")
            public = Path(f"{key}.pub").read_text().strip()
            self.write_file(HOST_KEY_PATH, key.read_text(), 0o600)
            self.write_file(f"{HOST_KEY_PATH}.pub", public + "\n", 0o644)
        return public

    def _debugfs(self, commands: str) -> None:
        run_tool(["debugfs", "-w", "-f", "-", self._target], code="seed", stdin=commands + "\n")

    def _read(self, path: str) -> str:
        return run_tool(["debugfs", "-R", f'cat "{path}"', self._target], code="seed")
