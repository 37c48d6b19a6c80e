"""Disks with the metadata of arrays, volume groups and pools, as the real tools made them."""

from __future__ import annotations

from pathlib import Path

import zstandard

HERE = Path(__file__).parent
PAIRS = ("md-0.90", "md-1.0", "md-1.1", "md-1.2", "imsm", "ddf", "lvm", "btrfs")


def unpack(name: str, path: Path) -> Path:
    """Write the disk ``name`` to ``path``, zeros as holes."""
    packed = (HERE / f"{name}.img.zst").read_bytes()
    with path.open("wb") as file:
        for start, block in enumerate(zstandard.ZstdDecompressor().read_to_iter(packed, write_size=1 << 16)):
            if block.count(0) != len(block):
                file.seek(start * (1 << 16))
                file.write(block)
            end = start * (1 << 16) + len(block)
        file.truncate(end)
    return path
