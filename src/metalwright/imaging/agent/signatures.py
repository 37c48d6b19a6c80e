"""What is on a disk: blank, ours, or somebody else's.

Blank means that ``blkid`` finds nothing and that the first and the last MiB are zero. Ours means a stamp with a right
checksum. Everything else, an unreadable disk too, is foreign.
"""

from __future__ import annotations

import json
import os
import subprocess

from metalwright.imaging.agent.failures import told_by_disk
from metalwright.imaging.agent.memberships import read_membership
from metalwright.imaging.agent.records import DiskContent, Membership
from metalwright.imaging.agent.stamp import PARTIAL_MAGIC, decode_stamp, read_stamp_area

_EDGE_BYTES = 1 << 20
_SECTOR_BYTES = 512
_BLKID_NOTHING = 2


def probe_content(path: str, size_bytes: int) -> DiskContent:
    """Return what the disk at ``path`` holds."""
    if size_bytes == 0:
        return DiskContent("foreign", ("empty device without a medium",), None)
    try:
        area = read_stamp_area(path)
        edges_are_zero = _edges_are_zero(path, size_bytes)
    except OSError as error:
        return DiskContent("foreign", (f"unreadable: {told_by_disk(error)}",), None)
    summary, memberships = _probe(path, size_bytes)
    if stamp := decode_stamp(area):
        return DiskContent("ours", summary, stamp, memberships)
    if partial := decode_stamp(area, PARTIAL_MAGIC):
        return DiskContent("ours", (f"part-written by run {partial.get('run')}", *summary), partial, memberships)
    if not summary and edges_are_zero:
        return DiskContent("blank", (), None)
    return DiskContent("foreign", summary or ("data without a known signature",), None, memberships)


def _edges_are_zero(path: str, size_bytes: int) -> bool:
    fd = os.open(path, os.O_RDONLY)
    try:
        first = os.pread(fd, _EDGE_BYTES, 0)
        last = os.pread(fd, _EDGE_BYTES, max(0, size_bytes - _EDGE_BYTES))
    finally:
        os.close(fd)
    return not (any(first) or any(last))


def _probe(path: str, size_bytes: int) -> tuple[tuple[str, ...], tuple[Membership, ...]]:
    """Return one line per signature, the whole disk's first, then one per partition; and what they are members of."""
    whole = _blkid(path)
    lines, memberships = [], []
    if kind := whole.get("TYPE"):
        membership = read_membership(path, 0, size_bytes, whole, is_whole_disk=True)
        memberships.append(membership)
        lines.append(_line(kind, membership, "the whole disk", whole))
    if table := whole.get("PTTYPE"):
        partitions = _partitions(path)
        lines.append(f"{table}: {len(partitions)} partitions")
        for number, start, size in partitions:
            found = _blkid(path, "-O", str(start), "-S", str(size))
            if "TYPE" in found:
                membership = read_membership(path, start, size, found, is_whole_disk=False)
                memberships.append(membership)
                lines.append(_line(found["TYPE"], membership, f"p{number}", found))
    if not lines and whole:
        lines.append("signature: " + " ".join(f"{key}={value}" for key, value in sorted(whole.items())))
    return tuple(lines), tuple(membership for membership in memberships if membership is not None)


def _line(kind: str, membership: Membership | None, place: str, found: dict[str, str]) -> str:
    return f"{membership.what} on {place}" if membership is not None else f"{kind} on {place}{_label(found)}"


def _label(found: dict[str, str]) -> str:
    return f" labelled {found['LABEL']}" if "LABEL" in found else ""


def _blkid(path: str, *options: str) -> dict[str, str]:
    """Return blkid's low-level probe as a mapping; several signatures at once make an ``AMBIGUOUS`` key."""
    result = subprocess.run(["blkid", "-p", "-o", "export", *options, path], capture_output=True, check=False)
    if result.returncode == _BLKID_NOTHING:
        return {}
    if result.returncode != 0:
        return {"AMBIGUOUS": result.stderr.decode(errors="replace").strip()[:200] or str(result.returncode)}
    pairs = (line.split("=", 1) for line in result.stdout.decode(errors="replace").splitlines() if "=" in line)
    return {key: value.replace("\\ ", " ") for key, value in pairs if key != "DEVNAME"}


def _partitions(path: str) -> list[tuple[int, int, int]]:
    """Return (number, start in bytes, size in bytes) of each partition."""
    result = subprocess.run(["sfdisk", "--json", path], capture_output=True, check=False)
    if result.returncode != 0:
        return []
    table = json.loads(result.stdout)["partitiontable"]
    sector = table.get("sectorsize", _SECTOR_BYTES)
    return [
        (_number(part["node"], path), part["start"] * sector, part["size"] * sector)
        for part in table.get("partitions", [])
    ]


def _number(node: str, path: str) -> int:
    """The number at the end of a partition's name: tables may leave numbers out."""
    return int(node.removeprefix(path).removeprefix("p"))
