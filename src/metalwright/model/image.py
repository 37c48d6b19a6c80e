"""Images: what is written to a system disk, known by digests and never by name alone."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from metalwright.model.base import Frozen, Positive, Sha256, Slug, Text, VersionText

Architecture = Literal["x86_64", "aarch64"]
OperatingSystem = Literal["debian-12", "ubuntu-22.04", "ubuntu-24.04", "rocky-9"]
"""What is in an image: it decides what configures the networks."""

WITHOUT_APT: frozenset[str] = frozenset({"rocky-9"})
"""Systems that get image, login and networks, and no software phase."""


class BootSigner(Frozen):
    """A certificate that an EFI program is signed with, by the common names of its subject and of its issuer."""

    name: Text
    issuer: Text


class BootProgram(Frozen):
    """A program in ``\\EFI\\BOOT`` of an image; ``is_shim``: it brings the keys for the programs after it."""

    file: Text
    architecture: Text | None
    is_shim: bool = False
    signers: tuple[BootSigner, ...] = ()


class PublishedDigest(Frozen):
    """The digest that somebody published of the file as it was taken, and where that was told."""

    algorithm: Literal["sha256", "sha512"]
    digest: Text
    source: Text


class Image(Frozen):
    """A catalogue entry (``images/<name>/<version>/image.json``).

    ``file_*`` describe the file as served, ``content_*`` the raw bytes on the disk before growing and seeding.
    ``chunk_sha256`` are digests of consecutive ``chunk_bytes`` of the served file, for nodes with less memory
    than the file needs. ``content_size_bytes`` is the size of the disk inside (qcow2 calls it virtual size).
    ``boot_programs`` are those of the EFI system partition, what firmware starts first; entries of older catalogues
    have none. ``published`` and ``source_format`` tell of the file as it was taken.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    name: Slug
    version: VersionText
    file: Text
    format: Literal["raw", "raw.zst"]
    architecture: Architecture = "x86_64"
    boot_mode: Literal["uefi"] = "uefi"
    file_sha256: Sha256
    file_size_bytes: Positive
    content_sha256: Sha256
    content_size_bytes: Positive
    chunk_bytes: Positive = 64 * 1024 * 1024
    chunk_sha256: tuple[Sha256, ...] = ()
    built: datetime | None = None
    origin: Text = ""
    source_format: Literal["raw", "raw.zst", "qcow2"] | None = None
    published: PublishedDigest | None = None
    boot_programs: tuple[BootProgram, ...] = ()
    packages: dict[str, str] = Field(default_factory=dict)

    @property
    def has_signed_chain(self) -> bool:
        """Whether firmware with Microsoft's keys finds a signed shim, and the shim a signed boot loader after it.

        The kernel is not looked at: shim and loader refuse one that is not signed, when the machine starts.
        """
        signed = [program for program in self.boot_programs if program.signers]
        is_begun = any(
            program.is_shim and any(signer.issuer.startswith("Microsoft ") for signer in program.signers)
            for program in signed
            if program is self.boot_programs[0]
        )
        return is_begun and any(program.file.startswith("GRUB") for program in signed)

    @property
    def ref(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


STAMP_PATH = "/etc/metalwright/stamp.json"
"""Where a written system carries its stamp."""


class Stamp(Frozen):
    """The mark of ours on a disk: says which run wrote what for whom. Stored in the gap before the first partition.

    ``customer`` is whose data the node may hold, as the rack file said; None: nobody's in particular.
    """

    magic: Literal["metalwright-stamp"] = "metalwright-stamp"
    schema_version: Literal[1] = Field(default=1, alias="schema")
    node: Slug
    run: Text
    recipe: Text
    image: Text
    journal: Text
    written: datetime
    customer: Slug | None = None
