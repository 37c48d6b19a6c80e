"""Phases and node states: the words of the state table."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """What is made true, in this order."""

    IDENTIFY = "identify"
    CREDENTIALS = "credentials"
    MATCH = "match"
    ADDRESS = "address"
    FIRMWARE = "firmware"
    BIOS = "bios"
    HARDEN = "harden"
    IMAGE = "image"
    SOFTWARE = "software"
    ACCEPT = "accept"
    READY = "ready"


PHASES: tuple[Phase, ...] = tuple(Phase)


class NodeState(StrEnum):
    """Where a node stands as a whole."""

    PLANNED = "planned"
    DISCOVERED = "discovered"
    CLAIMED = "claimed"
    PROVISIONING = "provisioning"
    READY = "ready"
    FAILED = "failed"
    HELD = "held"
    QUARANTINED = "quarantined"
    SPARE = "spare"
    RETIRED = "retired"
