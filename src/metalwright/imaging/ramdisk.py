"""The deploy ramdisk: Debian's kernel, an initramfs by Debian's initramfs-tools, and a layer with our agent.

The base (kernel and initramfs) is built in a throwaway root of unpacked packages, without privileges, and cached under
the digest of its inputs; the agent's layer is packed from this installation's own files each time.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import py_compile
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import metalwright
from metalwright.imaging.apt_sources import read_apt_proxy_options, read_apt_sources
from metalwright.imaging.cpio import CpioFile, align_layer, pack_cpio
from metalwright.imaging.programs import run_program
from metalwright.model.base import Frozen
from metalwright.model.digests import digest

LOG = logging.getLogger(__name__)
_DATA: Final = resources.files("metalwright.imaging") / "data" / "ramdisk"
_CONFIG_FILES: Final = ("initramfs.conf", "drivers.txt", "programs.txt", "python-modules.txt", "hook.sh")
_RAMDISK_PYTHON: Final = (3, 11)
_BUILD_ROOT_CONFIG: Final = "/etc/metalwright-ramdisk"


class RamdiskRecipe(Frozen):
    """What the base is made of. ``linux-image-cloud-amd64`` is smaller, but knows virtual machines only.

    ``packages`` may name firmware packages, where the machine's apt has their component.
    """

    suite: str = "bookworm"
    kernel: str = "linux-image-amd64"
    packages: tuple[str, ...] = (
        "busybox", "e2fsprogs", "fdisk", "hdparm", "initramfs-tools", "kmod", "mount", "nvme-cli", "python3",
        "util-linux", "xfsprogs", "zstd",
    )  # fmt: skip


class Ramdisk(NamedTuple):
    """A built ramdisk: the kernel, the initramfs of the base, and our agent's layer on top of it."""

    kernel_path: Path
    initramfs_path: Path
    agent_layer: bytes
    digest: str

    def initrd(self, *layers: bytes) -> bytes:
        """Return base, agent and further ``layers`` as the kernel wants them: one after the other."""
        parts = (self.initramfs_path.read_bytes(), self.agent_layer, *layers)
        return b"".join(align_layer(part) for part in parts)


def build_ramdisk(cache_dir: Path, recipe: RamdiskRecipe | None = None, *, mirrors: tuple[str, ...] = ()) -> Ramdisk:
    """Return the ramdisk, building its base unless ``cache_dir`` has it (then no network is needed).

    ``mirrors`` are ``deb`` lines; by default those of this machine's apt. Raises :class:`ImageError`.
    """
    recipe = recipe or RamdiskRecipe()
    base_digest = _base_digest(recipe)
    base_dir = _base_dir(cache_dir, base_digest)
    if not is_ramdisk_built(cache_dir, recipe):
        _build_base(base_dir, recipe, mirrors)
    layer = agent_layer()
    whole = digest({"base": base_digest, "agent": hashlib.sha256(layer).hexdigest()})
    return Ramdisk(base_dir / "vmlinuz", base_dir / "initramfs", layer, whole)


def is_ramdisk_built(cache_dir: Path, recipe: RamdiskRecipe | None = None) -> bool:
    """Whether ``cache_dir`` has the base, so that :func:`build_ramdisk` takes no time and no network."""
    return (_base_dir(cache_dir, _base_digest(recipe or RamdiskRecipe())) / "initramfs").exists()


def _base_dir(cache_dir: Path, base_digest: str) -> Path:
    return cache_dir / "ramdisk" / base_digest.removeprefix("sha256:")[:32]


def agent_layer() -> bytes:
    """Return the archive with init and the agent, from this installation's own files."""
    return pack_cpio(_agent_files())


def _base_digest(recipe: RamdiskRecipe) -> str:
    files = {name: hashlib.sha256((_DATA / name).read_bytes()).hexdigest() for name in _CONFIG_FILES}
    return digest({"recipe": recipe.to_json(), "files": files})


def _build_base(base_dir: Path, recipe: RamdiskRecipe, mirrors: tuple[str, ...]) -> None:
    """Unpack the packages, run mkinitramfs inside, and keep kernel and initramfs; the directory appears whole."""
    LOG.info("building the deploy ramdisk's base: Debian %s, %s", recipe.suite, recipe.kernel)
    base_dir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="metalwright-ramdisk-") as scratch:
        config_tar = Path(scratch) / "config.tar"
        _pack_config(config_tar)
        argv = ["mmdebstrap", "--mode=auto", "--variant=extract", "--quiet", "--format=null"]
        argv += ["--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "--include=?essential"]
        argv += [f"--aptopt={option}" for option in read_apt_proxy_options()]
        argv += [f"--include={','.join((recipe.kernel, *recipe.packages))}"]
        argv += [f"--extract-hook={hook}" for hook in _extract_hooks(config_tar, Path(scratch))]
        sources = mirrors or read_apt_sources(recipe.suite)
        run_program([*argv, recipe.suite, "-", "-"], where="deploy ramdisk", stdin="\n".join(sources) + "\n")
        with tempfile.TemporaryDirectory(dir=base_dir.parent) as fresh:
            for name in ("vmlinuz", "initramfs"):
                shutil.copyfile(Path(scratch) / name, Path(fresh) / name)
            _move_into_place(Path(fresh), base_dir)


def _extract_hooks(config_tar: Path, scratch: Path) -> Iterator[str]:
    """Yield what happens in the build root once the packages are unpacked; ``$1`` is its path."""
    config = _BUILD_ROOT_CONFIG
    yield f"tar-in {config_tar} /"
    yield f'chmod 0755 "$1{config}/hooks/metalwright"'
    # Only busybox's hook is wanted besides ours: udev, keymaps, resume and fsck belong to systems that boot a root.
    yield 'find "$1/usr/share/initramfs-tools/hooks" -type f ! -name "*busybox" -delete'
    yield (
        'version=$(ls "$1/lib/modules") && ln "$1/boot/vmlinuz-$version" "$1/boot/vmlinuz"'
        ' && SOURCE_DATE_EPOCH=1 chroot "$1" depmod "$version"'
        f' && SOURCE_DATE_EPOCH=1 chroot "$1" mkinitramfs -d {config} -o /boot/initramfs "$version"'
    )
    yield f"download /boot/vmlinuz {scratch / 'vmlinuz'}"
    yield f"download /boot/initramfs {scratch / 'initramfs'}"


def _pack_config(path: Path) -> None:
    """Pack the configuration of initramfs-tools, hook included, as it lies in the build root."""
    places = {name: name for name in _CONFIG_FILES} | {"hook.sh": "hooks/metalwright"}
    with tempfile.TemporaryDirectory() as staging, tarfile.open(path, "w") as tar:
        top = Path(staging) / _BUILD_ROOT_CONFIG.lstrip("/")
        for directory in ("hooks", "scripts", "conf.d"):
            (top / directory).mkdir(parents=True)
        for name, place in places.items():
            (top / place).write_bytes((_DATA / name).read_bytes())
        tar.add(top, arcname=_BUILD_ROOT_CONFIG.lstrip("/"))


def _move_into_place(fresh: Path, final: Path) -> None:
    """Rename ``fresh`` to ``final``; another process that was first wins."""
    fresh.chmod(0o755)
    try:
        os.rename(fresh, final)  # noqa: PTH104 - refuses a directory that is not empty, which is wanted here
    except OSError:
        if not (final / "initramfs").exists():
            raise
    fresh.mkdir(exist_ok=True)


def _agent_files() -> Iterator[CpioFile]:
    """Yield the agent's layer: init, the DHCP script, and the package tree that ``python3 -m`` finds."""
    yield CpioFile("metalwright/init", 0o755, (_DATA / "init.sh").read_bytes())
    yield CpioFile("metalwright/udhcpc", 0o755, (_DATA / "udhcpc.sh").read_bytes())
    package = Path(metalwright.__file__).parent
    sources = [
        package / "__init__.py",
        package / "imaging/__init__.py",
        *sorted((package / "imaging/agent").glob("*.py")),
    ]
    for source in sources:
        path = Path("metalwright/lib/metalwright") / source.relative_to(package)
        yield CpioFile(str(path), 0o644, source.read_bytes())
        if sys.version_info[:2] == _RAMDISK_PYTHON:
            cached = Path(importlib.util.cache_from_source(str(path)))
            yield CpioFile(str(cached), 0o644, _compile(source))


def _compile(source: Path) -> bytes:
    """Return the byte code of ``source``, valid whatever the file's time: the ramdisk starts a second sooner."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "module.pyc"
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), str(target), dfile=source.name, doraise=True, invalidation_mode=mode)
        return target.read_bytes()
