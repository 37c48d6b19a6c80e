"""Images: what is written to a system disk, known by digests and never by name alone."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from metalwright.model.base import Frozen, Positive, Sha256, Slug, Text, VersionText


class Image(Frozen):
    """A catalogue entry (``images/<name>/<version>/image.json``).

    ``file_*`` describe the file as served, ``content_*`` the raw bytes on the disk before growing and seeding.
    ``chunk_sha256`` are digests of consecutive ``chunk_bytes`` of the served file, for nodes with less memory
    than the file needs.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    name: Slug
    version: VersionText
    file: Text
    format: Literal["raw", "raw.zst"]
    architecture: Literal["x86_64", "aarch64"] = "x86_64"
    boot_mode: Literal["uefi"] = "uefi"
    file_sha256: Sha256
    file_size_bytes: Positive
    content_sha256: Sha256
    content_size_bytes: Positive
    chunk_bytes: Positive = 64 * 1024 * 1024
    chunk_sha256: tuple[Sha256, ...] = ()
    built: datetime | None = None
    origin: Text = ""
    packages: dict[str, str] = Field(default_factory=dict)

    @property
    def ref(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


STAMP_PATH = "/etc/metalwright/stamp.json"
"""Where a written system carries its stamp."""


class Stamp(Frozen):
    """The mark of ours on a disk: says which run wrote what for whom. Stored in the gap before the first partition."""

    magic: Literal["metalwright-stamp"] = "metalwright-stamp"
    schema_version: Literal[1] = Field(default=1, alias="schema")
    node: Slug
    run: Text
    recipe: Text
    image: Text
    journal: Text
    written: datetime
