"""What spans several disks: RAID arrays, volume groups, pools. Known by its metadata; nothing is ever assembled here.

A member is never blank and never simply ours: whoever writes it takes a part away from what the other disks hold.
"""

from __future__ import annotations

import os
import re

from metalwright.imaging.agent.records import Disk, DiskContent, Membership

_LVM_METADATA_BYTES = 2 << 20
_VOLUME_GROUP = re.compile(rb'([A-Za-z0-9+_.-]+) \{\nid = "([A-Za-z0-9-]{38})"\nseqno = (\d+)\n')
_IMSM_OFFSET_BYTES = 1024
_IMSM_MAGIC = b"Intel Raid ISM Cfg Sig. "
_IMSM_FAMILY = slice(0x28, 0x2C)
_NAMES = {
    "linux_raid_member": "RAID array",
    "isw_raid_member": "RAID array of Intel firmware (IMSM)",
    "ddf_raid_member": "RAID array of firmware (DDF)",
    "LVM2_member": "LVM volume group",
    "zfs_member": "ZFS pool",
    "btrfs": "btrfs file system",
    "bcache": "bcache",
    "drbd": "DRBD resource",
    "mpath_member": "multipath device",
    "promise_fasttrack_raid_member": "RAID array of Promise firmware",
    "adaptec_raid_member": "RAID array of Adaptec firmware",
    "ceph_bluestore": "Ceph OSD",
}


def read_membership(
    path: str, start_bytes: int, size_bytes: int, found: dict[str, str], *, is_whole_disk: bool
) -> Membership | None:
    """Return what the place with blkid's answer ``found`` is a member of; ``None`` for a thing of one disk."""
    kind = found.get("TYPE", "")
    if kind not in _NAMES:
        return None
    name, group = found.get("LABEL"), found.get("UUID")
    version = f" (md {found['VERSION']})" if kind == "linux_raid_member" and "VERSION" in found else ""
    if kind == "LVM2_member":
        name, group = _volume_group(path, start_bytes, size_bytes)
    elif kind == "isw_raid_member":
        group = _imsm_family(path, start_bytes + size_bytes)
    told = " ".join(part for part in (f"member of {_NAMES[kind]}", name) if part) + version
    return Membership(told, f"{kind} {group}" if group else None, is_whole_disk)


def with_companions(disks: tuple[Disk, ...]) -> tuple[Disk, ...]:
    """Return the disks, each told with what other disks it belongs together.

    A disk with our stamp that is a member as a whole, or together with other disks, is not ours alone: foreign.
    """
    return tuple(disk._replace(content=_judged(disk, disks)) for disk in disks)


def _judged(disk: Disk, disks: tuple[Disk, ...]) -> DiskContent:
    content = disk.content
    lines, is_shared = [], False
    for membership in content.memberships:
        others = [other for other in disks if other is not disk and _shares(other, membership)]
        is_shared |= bool(others) or membership.is_whole_disk
        if others:
            named = ", ".join(f"{other.path} (serial {other.serial})" for other in others)
            lines.append(f"{membership.what} is also on {named}, which would lose this disk")
    if content.state == "ours" and is_shared:
        lines.append("it carries our stamp, but somebody has used it in another way since")
        return content._replace(state="foreign", summary=(*content.summary, *lines), stamp=None)
    return content._replace(summary=(*content.summary, *lines))


def _shares(other: Disk, membership: Membership) -> bool:
    return any(found.group == membership.group for found in other.content.memberships if found.group is not None)


def _volume_group(path: str, start_bytes: int, size_bytes: int) -> tuple[str | None, str | None]:
    """Name and id of the volume group in the newest metadata; a physical volume may have none yet."""
    area = _read(path, start_bytes, min(_LVM_METADATA_BYTES, size_bytes))
    found = max(_VOLUME_GROUP.findall(area), key=lambda item: int(item[2]), default=None)
    return (found[0].decode(), found[1].decode()) if found else (None, None)


def _imsm_family(path: str, end_bytes: int) -> str | None:
    """The family number in the anchor, two sectors before the end: the same on all disks of a set."""
    anchor = _read(path, end_bytes - _IMSM_OFFSET_BYTES, 512)
    return anchor[_IMSM_FAMILY].hex() if anchor.startswith(_IMSM_MAGIC) else None


def _read(path: str, offset: int, size_bytes: int) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.pread(fd, size_bytes, offset)
    finally:
        os.close(fd)
