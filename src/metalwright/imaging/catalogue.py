"""The image catalogue: ``<root>/<name>/<version>/`` with one image file and its ``image.json``.

An image is known by digests. What has none, or is visibly no disk image, does not get in.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from metalwright.errors import ImageError
from metalwright.imaging.image_digests import ContentDigests, FileDigests, digest_content, digest_file
from metalwright.model.image import Image

ENTRY_NAME: Final = "image.json"
_MINIMUM_BYTES: Final = 1 << 20
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_GPT_OFFSET: Final = 512
_GPT_MAGIC: Final = b"EFI PART"


class ImageCatalogue:
    """The images of one site, usually ``<site>/images``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self) -> tuple[Image, ...]:
        """Return all entries, sorted by name and version text."""
        paths = sorted(self.root.glob(f"*/*/{ENTRY_NAME}"))
        return tuple(_read_entry(path) for path in paths)

    def get(self, name: str, version: str) -> Image:
        """Return one entry; :class:`ImageError` names those that are there."""
        path = self.directory(name, version) / ENTRY_NAME
        if not path.is_file():
            known = ", ".join(image.ref for image in self.list())
            raise ImageError(
                f"image {name}@{version} is not in the catalogue",
                where=str(self.root),
                found=known or "an empty catalogue",
                hint=f"metalwright image build {name} --version {version}, or metalwright image add",
            )
        return _read_entry(path)

    def directory(self, name: str, version: str) -> Path:
        """Return where an image lives."""
        return self.root / name / version

    def file_path(self, image: Image) -> Path:
        """Return the image file's path."""
        return self.directory(image.name, image.version) / image.file

    def add(
        self, source: Path, *, name: str, version: str, file_sha256: str, built: datetime | None = None,
        origin: str = "", packages: dict[str, str] | None = None,
    ) -> Image:  # fmt: skip
        """Copy ``source`` (a raw image with a GPT, plain or zstd) into the catalogue and return its entry.

        ``file_sha256`` is mandatory and is compared with the file. An entry once made is never replaced.
        Raises :class:`ImageError`.
        """
        directory = self.directory(name, version)
        if (directory / ENTRY_NAME).exists():
            raise ImageError("the image exists already", where=f"{name}@{version}", hint="choose another version")
        image_format = _detect_format(source)
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".adding-") as scratch_name:
            scratch = Path(scratch_name) / "entry"
            scratch.mkdir()
            file = scratch / f"image.{image_format}"
            _copy(source, file)
            digests = digest_file(file)
            _check_digest(source, file_sha256, digests)
            content = digest_content(file, image_format)
            _check_content(source, content)
            image = Image(
                name=name, version=version, file=file.name, format=image_format,
                file_sha256=digests.sha256, file_size_bytes=digests.size_bytes, chunk_bytes=digests.chunk_bytes,
                chunk_sha256=digests.chunk_sha256, content_sha256=content.sha256,
                content_size_bytes=content.size_bytes, built=built, origin=origin, packages=packages or {},
            )  # fmt: skip
            (scratch / ENTRY_NAME).write_text(image.model_dump_json(by_alias=True, indent=1) + "\n")
            os.rename(scratch, directory)  # noqa: PTH104 - appears whole; an existing directory is refused
        return image

    def verify(self, image: Image) -> tuple[str, ...]:
        """Recompute everything and return what differs, in words; empty when the image is what its entry says."""
        return tuple(self._differences(image))

    def _differences(self, image: Image) -> Iterator[str]:
        path = self.file_path(image)
        if not path.is_file():
            yield f"{path} is not there"
            return
        file = digest_file(path, image.chunk_bytes)
        yield from _compare("file size", image.file_size_bytes, file.size_bytes)
        yield from _compare("file sha256", image.file_sha256, file.sha256)
        for number, (expected, found) in enumerate(zip(image.chunk_sha256, file.chunk_sha256, strict=False)):
            yield from _compare(f"sha256 of chunk {number}", expected, found)
        yield from _compare("number of chunks", len(image.chunk_sha256), len(file.chunk_sha256))
        try:
            content = digest_content(path, image.format)
        except ImageError as error:
            yield error.what
            return
        yield from _compare("content size", image.content_size_bytes, content.size_bytes)
        yield from _compare("content sha256", image.content_sha256, content.sha256)


def _compare(what: str, expected: object, found: object) -> Iterator[str]:
    if expected != found:
        yield f"{what}: expected {expected}, found {found}"


def _read_entry(path: Path) -> Image:
    try:
        return Image.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ImageError("the catalogue entry cannot be read", where=str(path), found=str(error)[:500]) from error


def _detect_format(source: Path) -> str:
    """Return ``raw`` or ``raw.zst`` by the file's own bytes; everything else is refused with what it looks like."""
    try:
        if not source.is_file():
            found = "something that is no regular file" if source.exists() else "nothing"
            raise ImageError("the image file cannot be read", where=str(source), expected="a file", found=found)
        with source.open("rb") as file:
            head = file.read(_GPT_OFFSET + len(_GPT_MAGIC))
            size_bytes = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise ImageError("the image file cannot be read", where=str(source), found=error.strerror) from error
    if head.startswith(_ZSTD_MAGIC) and size_bytes >= _MINIMUM_BYTES:
        return "raw.zst"
    if head[_GPT_OFFSET:] == _GPT_MAGIC and size_bytes >= _MINIMUM_BYTES:
        return "raw"
    raise ImageError(
        "this is no disk image",
        where=str(source),
        expected=f"a raw disk with a GPT, plain or zstd-compressed, of at least {_MINIMUM_BYTES} bytes",
        found=f"{_describe(head)} of {size_bytes} bytes",
    )


def _describe(head: bytes) -> str:
    looks = {b"QFI\xfb": "a qcow2 image", b"\x1f\x8b": "a gzip file", b"\xfd7zXZ": "an xz file", b"PK": "a zip file"}
    for magic, what in looks.items():
        if head.startswith(magic):
            return what
    if head.lstrip()[:1] == b"<":
        return "an HTML or XML page"
    return "a zstd file" if head.startswith(_ZSTD_MAGIC) else "a file"


def _copy(source: Path, target: Path) -> None:
    """Copy, by a hard link where both are on one file system and the source is ours to keep."""
    shutil.copyfile(source, target)
    target.chmod(0o644)


def _check_digest(source: Path, expected: str, found: FileDigests) -> None:
    if found.sha256 != expected.strip().lower().removeprefix("sha256:"):
        raise ImageError(
            "the image file has the wrong SHA-256", where=str(source), expected=expected, found=found.sha256
        )


def _check_content(source: Path, content: ContentDigests) -> None:
    if not content.has_gpt:
        raise ImageError("the image has no GPT", where=str(source), expected="a UEFI disk with a GPT")
    if not content.has_free_stamp_area:
        raise ImageError(
            "the image uses the place of the stamp", where=str(source), expected="zeros in bytes 524288 to 528383",
            hint="start the first partition at 1 MiB",
        )  # fmt: skip
