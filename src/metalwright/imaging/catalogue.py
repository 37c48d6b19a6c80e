"""The image catalogue: ``<root>/<name>/<version>/`` with one image file, its ``image.json`` and a signature of that.

An image is known by digests. What has none, or is visibly no disk image, does not get in.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from metalwright.errors import ImageError, UsageError
from metalwright.imaging.boot_programs import architecture_of, read_boot_programs
from metalwright.imaging.checksums import parse_checksum
from metalwright.imaging.disk_contents import read_contents, require_gpt
from metalwright.imaging.image_digests import digest_content, digest_file
from metalwright.imaging.image_formats import detect_format
from metalwright.imaging.image_trust import ImageSigner
from metalwright.imaging.scratch import ADDING, scratch_directory, sync
from metalwright.model.base import Slug, VersionText
from metalwright.model.image import Image, PublishedDigest

ENTRY_NAME: Final = "image.json"
WRONG_DIGEST: Final = "fetch file and checksum again, from the same release; if they still differ, do not use the file"
SourceFormat = Literal["raw", "raw.zst", "qcow2"]


@dataclass(frozen=True)
class Provenance:
    """Where an image comes from; ``comment`` goes into the signature of its entry, where there is a signer."""

    built: datetime | None = None
    origin: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    source_format: SourceFormat | None = None
    published: PublishedDigest | None = None
    signer: ImageSigner | None = None
    comment: str = ""


class ImageCatalogue:
    """The images of one site, usually ``<site>/images``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self) -> tuple[Image, ...]:
        """Return all entries, sorted by name and version text."""
        paths = sorted(self.root.glob(f"[!.]*/[!.]*/{ENTRY_NAME}"))
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

    def entry_path(self, image: Image) -> Path:
        """Return the path of the entry, which is what a signature covers."""
        return self.directory(image.name, image.version) / ENTRY_NAME

    def file_path(self, image: Image) -> Path:
        """Return the image file's path."""
        return self.directory(image.name, image.version) / image.file

    def require_absent(self, name: str, version: str) -> None:
        """Refuse a version that exists: an entry once made is never replaced.

        Raises:
            ImageError: it exists.
            UsageError: no image can be called that; nothing outside the catalogue is touched.
        """
        check_image_name(name, version)
        if (self.directory(name, version) / ENTRY_NAME).exists():
            raise ImageError("the image exists already", where=f"{name}@{version}", hint="choose another version")

    def add(
        self, source: Path, *, name: str, version: str, file_sha256: str, provenance: Provenance | None = None,
        where: str | None = None, is_ours: bool = False,
    ) -> Image:  # fmt: skip
        """Copy ``source`` (a raw image with a GPT, plain or zstd) into the catalogue and return its entry.

        ``file_sha256`` is mandatory and is compared with the file. An entry once made is never replaced; it appears
        whole, with its signature, or not at all. ``where`` is what people call the file; with ``is_ours``
        it is moved instead of copied. Raises :class:`ImageError`.
        """
        where = where or str(source)
        self.require_absent(name, version)
        expected = parse_checksum(file_sha256, where)
        image_format = detect_format(source, where)
        if image_format == "qcow2":
            raise ImageError(
                "this is a qcow2 image", where=where, expected="a raw disk, plain or zstd-compressed",
                hint="`metalwright image add` converts it",
            )  # fmt: skip
        with scratch_directory(self.root / name, ADDING, where) as scratch:
            entry = scratch / "entry"
            entry.mkdir()
            file = entry / f"image.{image_format}"
            if is_ours:
                source.replace(file)
            else:
                shutil.copyfile(source, file)
            file.chmod(0o644)
            return self._enter(scratch, file, (name, version), expected.digest, provenance or Provenance(), where)

    def _enter(
        self, scratch: Path, file: Path, ref: tuple[str, str], file_sha256: str, provenance: Provenance, where: str
    ) -> Image:
        name, version = ref
        image_format: Literal["raw", "raw.zst"] = "raw" if file.suffix == ".raw" else "raw.zst"
        digests = digest_file(file)
        if digests.sha256 != file_sha256:
            raise ImageError(
                "the image file has the wrong SHA-256", where=where, expected=file_sha256, found=digests.sha256,
                hint=WRONG_DIGEST,
            )  # fmt: skip
        contents = read_contents(file, image_format, scratch, where)
        require_gpt(contents, where)
        programs = read_boot_programs(contents, where)
        image = Image(
            name=name, version=version, file=file.name, format=image_format, architecture=architecture_of(programs),
            file_sha256=digests.sha256, file_size_bytes=digests.size_bytes, chunk_bytes=digests.chunk_bytes,
            chunk_sha256=digests.chunk_sha256, content_sha256=contents.sha256,
            content_size_bytes=contents.size_bytes, built=provenance.built, origin=provenance.origin,
            source_format=provenance.source_format or image_format, published=provenance.published,
            boot_programs=programs, packages=dict(provenance.packages),
        )  # fmt: skip
        entry = file.parent / ENTRY_NAME
        entry.write_text(image.model_dump_json(by_alias=True, indent=1) + "\n")
        if provenance.signer is not None:
            provenance.signer.sign(entry, f"{image.ref}: {provenance.comment}")
        for path in (*sorted(file.parent.iterdir()), file.parent):
            sync(path)
        self._publish(file.parent, self.directory(name, version))
        return image

    def _publish(self, entry: Path, directory: Path) -> None:
        try:
            os.rename(entry, directory)  # noqa: PTH104 - appears whole; an existing directory is refused
        except OSError as error:
            if directory.exists():
                raise ImageError(
                    "the image exists already", where=str(directory), hint="choose another version"
                ) from error
            raise
        sync(directory.parent)

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
            sha256, size_bytes = digest_content(path, image.format)
        except ImageError as error:
            yield error.what
            return
        yield from _compare("content size", image.content_size_bytes, size_bytes)
        yield from _compare("content sha256", image.content_sha256, sha256)


def parse_image_ref(text: str) -> tuple[str, str]:
    """Name and version. Raises :class:`UsageError` without a version."""
    name, _, version = text.partition("@")
    if not name or not version:
        raise UsageError("an image is named with its version", where=text, expected="NAME@VERSION")
    return name, version


def check_image_name(name: str, version: str) -> None:
    """Refuse what no entry could be called, before anything is fetched or built. Raises :class:`UsageError`."""
    for what, text, kind, expected in (
        ("name", name, Slug, "lower-case letters, digits, dots and dashes, at most 63"),
        ("version", version, VersionText, "letters, digits and . + ~ : _ -, first a letter or a digit"),
    ):
        try:
            TypeAdapter(kind).validate_python(text)
        except ValidationError as error:
            raise UsageError(f"no image can have this {what}", where=repr(text), expected=expected) from error


def _compare(what: str, expected: object, found: object) -> Iterator[str]:
    if expected != found:
        yield f"{what}: expected {expected}, found {found}"


def _read_entry(path: Path) -> Image:
    try:
        return Image.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ImageError(
            "the catalogue entry cannot be read", where=str(path), found=str(error)[:500],
            hint="bring it back from where you have it, or remove its directory and add the image again",
        ) from error  # fmt: skip
