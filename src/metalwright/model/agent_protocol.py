"""The messages between the deploy ramdisk's agent and the boot server, protocol version 1.

JSON over HTTPS. The agent sends :class:`Hello`, :class:`GoRequest`, :class:`Progress`, and at the end :class:`Done` or
:class:`Failure`; the server answers hello with a :class:`Task`. Sizes are bytes, digests lower-case hex, UUIDs as the
machine prints them (both byte orders are the same machine).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from metalwright.model.base import Frozen
from metalwright.model.image import Stamp

Hex64 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
ShortText = Annotated[str, StringConstraints(max_length=512)]
LongText = Annotated[str, StringConstraints(max_length=8192)]
DiskContentState = Literal["blank", "ours", "foreign"]
ImageFormat = Literal["raw", "raw.zst"]
IdentityKey = Literal["serial", "uuid", "macs"]


class DiskContent(Frozen):
    """What is on a disk: ``blank`` (no signature, both ends zero), ``ours`` (valid stamp) or ``foreign`` (all else)."""

    state: DiskContentState
    summary: tuple[ShortText, ...] = Field(default=(), max_length=64)
    stamp: Stamp | None = None


class Disk(Frozen):
    """One disk as the ramdisk sees it; ``None`` is unknown."""

    path: ShortText
    serial: ShortText | None = None
    wwn: ShortText | None = None
    model: ShortText | None = None
    size_bytes: int = Field(ge=0)
    protocol: ShortText | None = None
    read_only: bool = False
    removable: bool = False
    content: DiskContent


class BootIdentity(Frozen):
    """Who the booted machine is, from SMBIOS and its network ports (MACs lower case with colons)."""

    serial: ShortText | None = None
    uuid: ShortText | None = None
    macs: tuple[ShortText, ...] = Field(default=(), max_length=256)


class Hello(Frozen):
    """First message: the medium's nonce, the machine's identity, its boot and its disks."""

    nonce: ShortText
    identity: BootIdentity
    memory_bytes: int = Field(ge=0)
    boot_id: ShortText
    disks: tuple[Disk, ...] = Field(default=(), max_length=512)


class Claim(Frozen):
    """Only after a network boot, before hello: who asks for the secrets that its medium does not carry."""

    node: ShortText
    identity: BootIdentity


class ExpectedIdentity(Frozen):
    """The declared identity; each key in ``keys`` must agree (``macs``: at least one declared MAC is present)."""

    keys: tuple[IdentityKey, ...] = Field(min_length=1)
    serial: str | None = None
    uuid: str | None = None
    macs: tuple[str, ...] = ()


class ImageTask(Frozen):
    """The image to write. ``url`` is filled in by the boot server; chunks are those of the file as served."""

    name: str
    version: str
    url: str = ""
    format: ImageFormat
    file_sha256: Hex64
    file_size_bytes: int = Field(gt=0)
    content_sha256: Hex64
    content_size_bytes: int = Field(gt=0)
    chunk_bytes: int = Field(gt=0)
    chunk_sha256: tuple[Hex64, ...] = Field(min_length=1)


class DiskRule(Frozen):
    """Which disk is the target: exactly one disk must satisfy every given key."""

    role: str
    serial: str | None = None
    wwn: str | None = None
    min_bytes: int = Field(default=0, ge=0)
    max_bytes: int | None = None
    protocol: str | None = None


class SeedFile(Frozen):
    """One file written into the root file system; ``mode`` is octal text, ``text`` its content."""

    path: Annotated[str, StringConstraints(pattern=r"^/[^\x00]+$")]
    mode: Annotated[str, StringConstraints(pattern=r"^0[0-7]{3}$")] = "0644"
    text: str = Field(repr=False)


class Seed(Frozen):
    """What makes the image this node: names, machine id (``None``: made at first boot) and files."""

    hostname: str
    fqdn: str
    machine_id: str | None = None
    files: tuple[SeedFile, ...] = ()


class Task(Frozen):
    """Everything the agent needs to write one node's disk.

    ``wipe`` are the serials of disks to erase before: all fixed disks of the machine, or none.
    """

    run: str
    node: str
    expect: ExpectedIdentity
    image: ImageTask
    disk: DiskRule
    overwrite: bool = False
    stamp: Stamp
    seed: Seed
    ssh_host_key: bool = True
    wipe: tuple[ShortText, ...] = Field(default=(), max_length=512)


class GoRequest(Frozen):
    """Asked just before the first write; ``request_id`` makes a repeated request the same request."""

    disk: Disk
    request_id: Hex64


class ProgressStep(StrEnum):
    """The steps that report progress, in order."""

    FETCH = "fetch"
    VERIFY = "verify"
    WIPE = "wipe"
    WRITE = "write"
    READ_BACK = "read-back"
    SEED = "seed"


class Progress(Frozen):
    """How far a step is."""

    step: ProgressStep
    done_bytes: int = Field(ge=0)
    total_bytes: int = Field(ge=0)


class WipedDisk(Frozen):
    """One erased disk: by which method, and what was seen in the ``looked_at_bytes`` that were read afterwards."""

    serial: ShortText
    model: ShortText | None = None
    size_bytes: int = Field(ge=0)
    method: ShortText
    proof: ShortText
    looked_at_bytes: int = Field(ge=0)
    seconds: float = Field(ge=0)


class Done(Frozen):
    """The disk is written, read back, stamped and seeded. ``seconds`` per step; ``wiped`` as the task asked.

    ``removed_boot_entries`` are those of the firmware that pointed to partitions which are gone now.
    """

    disk: Disk
    content_sha256: Hex64
    read_back_sha256: Hex64
    ssh_host_key: LongText | None = None
    wiped: tuple[WipedDisk, ...] = Field(default=(), max_length=512)
    removed_boot_entries: tuple[ShortText, ...] = Field(default=(), max_length=512)
    seconds: dict[str, float] = Field(default_factory=dict)


class FailureCode(StrEnum):
    """Why the agent stopped."""

    IDENTITY = "identity"
    NONCE = "nonce"
    NO_DISK = "no-disk"
    AMBIGUOUS_DISK = "ambiguous-disk"
    FOREIGN_DISK = "foreign-disk"
    DISK_TOO_SMALL = "disk-too-small"
    IMAGE_DIGEST = "image-digest"
    IMAGE_TRUNCATED = "image-truncated"
    IMAGE_TOO_LARGE = "image-too-large"
    CUSTOMER = "customer"
    WIPE = "wipe"
    WRITE = "write"
    READ_BACK = "read-back"
    SEED = "seed"
    REFUSED = "refused"
    SERVER_UNREACHABLE = "server-unreachable"
    INTERNAL = "internal"


class Failure(Frozen):
    """The agent stopped; ``wrote`` says whether the disk was touched."""

    code: FailureCode
    what: LongText
    expected: LongText | None = None
    found: LongText | None = None
    wrote: bool
