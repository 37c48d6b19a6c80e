"""The raw content of an image file, read once from front to back: its digest, its partitions and its ESP.

Compressed images are decompressed on the way; only the EFI system partition is kept, as a sparse file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import IO, Final, NamedTuple

from metalwright.errors import ImageError
from metalwright.imaging.image_digests import content_blocks
from metalwright.imaging.partitions import (
    ESP_TYPE,
    PROBE_BYTES,
    TABLE_BYTES,
    Partition,
    has_gpt,
    name_content,
    read_partitions,
)

ROOT_KINDS: Final = ("ext4", "xfs")
STAMP_AREA: Final = slice(524288, 528384)
_LARGEST_ESP_BYTES: Final = 2 << 30


class DiskContents(NamedTuple):
    """``esp`` is a file with the EFI system partition; None where the image has none."""

    sha256: str
    size_bytes: int
    has_gpt: bool
    has_free_stamp_area: bool
    partitions: tuple[Partition, ...]
    esp: Path | None

    @property
    def root(self) -> Partition | None:
        """The partition that starts last: the one that the deploy ramdisk grows and puts the node's files on."""
        return max(self.partitions, key=lambda item: item.start_bytes, default=None)


def read_contents(path: Path, image_format: str, scratch: Path, where: str | None = None) -> DiskContents:
    """Read the image; ``scratch`` is a directory for the ESP, ``where`` what people call the file.

    Raises :class:`ImageError` for a damaged file.
    """
    digest, watcher = hashlib.sha256(), _Watcher(scratch / "esp")
    with watcher:
        for block in content_blocks(path, image_format, where):
            digest.update(block)
            watcher.see(block)
    partitions = tuple(
        partition._replace(content=name_content(bytes(watcher.beginnings[partition.number])))
        for partition in watcher.partitions
    )
    return DiskContents(
        sha256=digest.hexdigest(),
        size_bytes=watcher.position,
        has_gpt=has_gpt(bytes(watcher.head)),
        has_free_stamp_area=not any(watcher.head[STAMP_AREA]),
        partitions=partitions,
        esp=watcher.esp_path if watcher.esp is not None else None,
    )


class _Watcher:
    """Sees the content go by and keeps the table, the beginning of each partition, and the ESP."""

    def __init__(self, esp_path: Path) -> None:
        self.esp_path = esp_path
        self.head = bytearray()
        self.position = 0
        self.partitions: tuple[Partition, ...] = ()
        self.beginnings: dict[int, bytearray] = {}
        self.esp: Partition | None = None
        self._esp_file: IO[bytes] | None = None

    def __enter__(self) -> _Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        if len(self.head) < TABLE_BYTES:
            self._read_table()
        if self._esp_file is not None and self.esp is not None:
            self._esp_file.truncate(self.esp.size_bytes)
            self._esp_file.close()

    def see(self, block: bytes) -> None:
        """Take the next bytes of the content."""
        start, self.position = self.position, self.position + len(block)
        if len(self.head) < TABLE_BYTES:
            self.head += block[: TABLE_BYTES - len(self.head)]
            if len(self.head) < TABLE_BYTES:
                return
            self._read_table()
        for partition in self.partitions:
            self._keep(partition, start, block)

    def _read_table(self) -> None:
        """The table is complete: know the windows, and see again what already went by."""
        self.partitions = read_partitions(bytes(self.head))
        self.beginnings = {partition.number: bytearray() for partition in self.partitions}
        esp = next((partition for partition in self.partitions if partition.type == ESP_TYPE), None)
        if esp is not None and esp.size_bytes <= _LARGEST_ESP_BYTES:
            self.esp = esp
            self._esp_file = self.esp_path.open("wb")

    def _keep(self, partition: Partition, start: int, block: bytes) -> None:
        begin, end = max(start, partition.start_bytes), min(start + len(block), _end(partition))
        if begin >= end:
            return
        piece = block[begin - start : end - start]
        beginning = self.beginnings[partition.number]
        if len(beginning) < PROBE_BYTES:
            beginning += piece[: PROBE_BYTES - len(beginning)]
        if partition is self.esp and self._esp_file is not None and piece.count(0) != len(piece):
            self._esp_file.seek(begin - partition.start_bytes)
            self._esp_file.write(piece)


def _end(partition: Partition) -> int:
    return partition.start_bytes + partition.size_bytes


def require_gpt(contents: DiskContents, where: str) -> None:
    """Refuse an image that firmware or deploy ramdisk could not use. Raises :class:`ImageError`."""
    if not contents.has_gpt:
        raise ImageError(
            "the image has no GPT", where=where, expected="a UEFI disk with a GPT",
            hint="publishers have a UEFI or `generic` variant; a file system alone is no disk",
        )  # fmt: skip
    if not contents.has_free_stamp_area:
        raise ImageError(
            "the image uses the place of the stamp", where=where, expected="zeros in bytes 524288 to 528383",
            hint="start the first partition at 1 MiB",
        )  # fmt: skip
    cut = next((item for item in contents.partitions if _end(item) > contents.size_bytes), None)
    if cut is not None:
        raise ImageError(
            "the image is cut off: a partition ends after it", where=where,
            expected=f"at least {_end(cut)} bytes, the end of partition {cut.number}",
            found=f"{contents.size_bytes} bytes", hint="fetch or make it again, and take its digest then",
        )  # fmt: skip
    root = contents.root
    if root is None or root.content not in ROOT_KINDS:
        found = "no partition" if root is None else f"{root.content or 'nothing known'} on partition {root.number}"
        raise ImageError(
            "the image has no root file system that can be grown and given the node's files", where=where,
            expected="ext4 or XFS on the partition that starts last", found=found,
            hint="docs/how-to/take-an-image.md: what must be in it",
        )  # fmt: skip
