"""The record of an erasure: which disks, how, and what proves it; signed as certificates are."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from metalwright.model.agent_protocol import WipedDisk
from metalwright.model.base import Frozen
from metalwright.model.certificate import Signature


class WipeRecord(Frozen):
    """All fixed disks of a node were erased in a run. ``former`` and ``customer``: whose they were, and are now."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["wipe"] = "wipe"
    node: str
    run: str
    former: str | None = None
    customer: str | None = None
    disks: tuple[WipedDisk, ...]
    issued: datetime
    signature: Signature | None = None
