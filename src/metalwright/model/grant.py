"""Grants: the permission, made by a plan or a typed confirmation, to destroy the contents of one disk of one node."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from metalwright.model.base import Frozen, Sha256, Slug, Text


class Grant(Frozen):
    """Valid for one node, one disk rule and one image, until it expires or is used up by a verified write.

    ``wipe`` are the serials of all disks of the node, each of which may be erased; empty: none may.
    ``disk_serial`` is ``None`` when the BMC does not list drives: the blueprint's rule then decides in the ramdisk
    and must match exactly one disk. ``overwrite`` allows content that is neither blank nor ours.
    """

    id: Text
    node: Slug
    disk_serial: Text | None = None
    image_sha256: Sha256
    plan: Text
    how: Literal["plan", "typed"]
    by: Text
    overwrite: bool = False
    wipe: tuple[Text, ...] = ()
    issued: datetime
    expires: datetime

    def is_valid(self, node: str, image_sha256: str, now: datetime) -> bool:
        """Whether this grant covers writing that image to that node at that time."""
        return self.node == node and self.image_sha256 == image_sha256 and self.issued <= now < self.expires
