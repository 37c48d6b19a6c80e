"""Outputs of the vendors' tools that tests read. The first line of each file says where the text comes from."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"
"""``<tool>-<what>.txt``: a header (``captured: SOURCE`` or ``synthetic: WHY``), then the tool's output."""


def text(name: str) -> str:
    """What the tool printed."""
    return _parts(name)[1]


def origin(name: str) -> str:
    """The header."""
    return _parts(name)[0]


def names(prefix: str = "") -> list[str]:
    """Every fixture of a tool."""
    return sorted(path.stem for path in FIXTURES.glob(f"{prefix}*.txt"))


def _parts(name: str) -> tuple[str, str]:
    header, _, body = (FIXTURES / f"{name}.txt").read_text(encoding="utf-8").partition("\n")
    return header, body
