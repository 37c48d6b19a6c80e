"""Building base images: Debian packages → root file system → bootable disk image → catalogue entry."""

from __future__ import annotations

import io
import logging
import os
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import ImageError
from metalwright.imaging.apt_sources import read_apt_proxy_options, read_apt_sources
from metalwright.imaging.catalogue import ENTRY_NAME, ImageCatalogue, Provenance, check_image_name
from metalwright.imaging.disk_image import write_disk_image
from metalwright.imaging.image_digests import digest_file
from metalwright.imaging.image_intake import ZSTD_LEVEL
from metalwright.imaging.image_recipe import ImageRecipe
from metalwright.imaging.image_trust import ImageSigner
from metalwright.imaging.programs import run_program
from metalwright.imaging.scratch import BUILDING, scratch_directory
from metalwright.imaging.signed_boot import signed_boot
from metalwright.model.digests import digest
from metalwright.model.image import Image

LOG = logging.getLogger(__name__)
ROOT_LABEL: Final = "metalwright-root"

_PACKAGES_PATH: Final = "/usr/share/metalwright/packages"
_NOT_INSTALLED: Final = ("/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/doc/*")


class _Root(NamedTuple):
    """What one mmdebstrap run leaves behind."""

    file_system: Path
    kernel: Path
    initramfs: Path | None
    packages: dict[str, str]


def build_image(
    catalogue: ImageCatalogue, recipe: ImageRecipe, version: str, *, mirrors: tuple[str, ...] = (),
    signer: ImageSigner | None = None,
) -> Image:  # fmt: skip
    """Return image ``recipe.name`` ``version``, building it unless the catalogue has it (then no network is needed).

    ``signer`` vouches for what is built here and now, never for an entry that was there before.

    Raises :class:`ImageError`, also when the existing entry was made from another recipe.
    """
    check_image_name(recipe.name, version)
    origin = f"recipe {digest(recipe)}"
    if (catalogue.directory(recipe.name, version) / ENTRY_NAME).exists():
        return _check_origin(catalogue.get(recipe.name, version), origin)
    with scratch_directory(catalogue.root, BUILDING, f"{recipe.name}@{version}") as scratch:
        LOG.info("installing Debian %s with %d packages", recipe.suite, len(recipe.packages))
        root = _build_root(scratch, recipe, mirrors)
        LOG.info("assembling the disk image")
        raw = scratch / "image.raw"
        write_disk_image(
            raw,
            ref=f"{recipe.name}@{version}",
            root_file_system=root.file_system,
            kernel=root.kernel,
            initramfs=root.initramfs,
            cmdline=recipe.cmdline,
            esp_mib=recipe.esp_mib,
            signed=signed_boot(scratch, recipe.suite, mirrors) if recipe.secure_boot else None,
        )
        packed = scratch / "image.raw.zst"
        run_program(["zstd", "-q", f"-{ZSTD_LEVEL}", "-T0", str(raw), "-o", str(packed)], where=str(packed))
        return catalogue.add(
            packed,
            name=recipe.name,
            version=version,
            file_sha256=digest_file(packed).sha256,
            provenance=Provenance(
                built=datetime.now(UTC),
                origin=origin,
                packages=root.packages,
                signer=signer,
                comment=f"built from {origin}",
            ),
        )


def _check_origin(image: Image, origin: str) -> Image:
    if image.origin != origin:
        raise ImageError(
            "the image exists, made from another recipe", where=image.ref, expected=origin, found=image.origin,
            hint="choose another version: an image never changes once it has a version",
        )  # fmt: skip
    return image


def _build_root(scratch: Path, recipe: ImageRecipe, mirrors: tuple[str, ...]) -> _Root:
    files = scratch / "files.tar"
    _pack_files(files, recipe)
    argv = ["mmdebstrap", "--mode=auto", "--variant=minbase", "--quiet", "--format=null"]
    argv += [f"--aptopt={option}" for option in read_apt_proxy_options()]
    argv += [f"--dpkgopt=path-exclude={path}" for path in _NOT_INSTALLED]
    argv += ["--dpkgopt=path-include=/usr/share/doc/*/copyright", "--dpkgopt=force-unsafe-io"]
    argv += ["--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr"]
    argv += [f"--include={','.join((recipe.kernel.package, 'usr-is-merged', *recipe.packages))}"]
    argv += [f"--customize-hook={hook}" for hook in _customize_hooks(scratch, files, recipe)]
    sources = mirrors or read_apt_sources(recipe.suite)
    # INITRD=No: Debian's kernel packages then make no initramfs of their own accord.
    env = {**os.environ, "INITRD": "Yes" if recipe.kernel.initramfs else "No"}
    stdin = "\n".join(sources) + "\n"
    run_program([*argv, recipe.suite, "-", "-"], where=f"image {recipe.name}", stdin=stdin, env=env)
    lines = [line.partition(" ") for line in (scratch / "packages").read_text().splitlines()]
    return _Root(
        file_system=scratch / "root.ext4",
        kernel=scratch / "vmlinuz",
        initramfs=scratch / "initrd.img" if recipe.kernel.initramfs else None,
        packages={name: version for name, _, version in lines},
    )


def _customize_hooks(scratch: Path, files: Path, recipe: ImageRecipe) -> Iterator[str]:
    """Yield what happens to the installed root; ``$1`` is its path."""
    yield f"tar-in {files} /"
    yield 'chroot "$1" systemctl --quiet set-default multi-user.target'
    if recipe.mask:
        yield f'chroot "$1" systemctl --quiet mask {" ".join(recipe.mask)}'
    if recipe.enable:
        yield f'chroot "$1" systemctl --quiet enable {" ".join(recipe.enable)}'
    yield f"""chroot "$1" dpkg-query -W -f '${{Package}} ${{Version}}\\n' > "$1{_PACKAGES_PATH}" """
    yield f"download {_PACKAGES_PATH} {scratch / 'packages'}"
    names = ("vmlinuz", "initrd.img") if recipe.kernel.initramfs else ("vmlinuz",)
    for name in names:
        yield f'mv "$1"/boot/{name}-* "$1/boot/{name}"'
        yield f"download /boot/{name} {scratch / name}"
    # What belongs to one machine, or to the machine that built this, does not belong in an image.
    yield (
        'rm -rf "$1"/etc/ssh/ssh_host_* "$1"/boot/* "$1"/vmlinuz* "$1"/initrd* "$1"/var/lib/apt/lists/*'
        ' "$1"/var/cache/apt/* "$1"/var/log/*.log "$1"/etc/.updated "$1"/var/.updated "$1"/etc/hostname'
    )
    yield ': > "$1/etc/machine-id"; : > "$1/etc/apt/sources.list"; rm -f "$1"/etc/apt/sources.list.d/*'
    yield _root_file_system_hook(recipe.free_mib)
    yield f"download /root.ext4 {scratch / 'root.ext4'}"


def _root_file_system_hook(free_mib: int) -> str:
    """Return the hook that packs the root into an ext4 image: beside it, then into it, since only there it is fetched.

    The bind mount shows the root without what mmdebstrap has mounted inside (proc, sys, dev).
    """
    return (
        "set -e; out=$(mktemp); bare=$(mktemp -d);"
        """ trap 'umount "$bare" 2>/dev/null || true; rmdir "$bare"; rm -f "$out"' EXIT;"""
        ' mount --bind "$1" "$bare";'
        ' mib=$(du -s --block-size=1M --one-file-system "$bare" | cut -f1);'
        f" size=$((mib + mib / 12 + {free_mib}));"
        f' mkfs.ext4 -q -F -b 4096 -i 16384 -I 256 -m 1 -L {ROOT_LABEL} -d "$bare" "$out" "${{size}}M";'
        ' umount "$bare"; mv "$out" "$1/root.ext4"'
    )


def _pack_files(path: Path, recipe: ImageRecipe) -> None:
    """Pack the recipe's files as they lie in the root, owned by root."""
    with tarfile.open(path, "w") as tar:
        package_directory = tarfile.TarInfo(str(Path(_PACKAGES_PATH).parent).lstrip("/"))
        package_directory.type, package_directory.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(package_directory)
        for file in recipe.files:
            content = file.text.encode()
            member = tarfile.TarInfo(file.path.lstrip("/"))
            member.mode, member.size = int(file.mode, 8), len(content)
            tar.addfile(member, io.BytesIO(content))
