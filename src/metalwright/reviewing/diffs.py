"""Two texts as a diff for a person. Pure."""

from __future__ import annotations

import difflib


def unified_diff(before: str, after: str) -> str:
    """The lines that differ, each with one line around it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return "\n".join(list(lines)[2:])
