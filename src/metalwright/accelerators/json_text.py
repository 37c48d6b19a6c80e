"""JSON as tools print it: with warnings before it and complaints behind it (pure)."""

from __future__ import annotations

import json
from typing import Any


def document(text: str) -> Any:
    """The first JSON object or array that stands in a text, or ``None`` (also when it is cut off)."""
    decoder = json.JSONDecoder()
    for start, character in enumerate(text[:10_000]):
        if character in "[{":
            try:
                found = decoder.raw_decode(text, start)[0]
            except (ValueError, RecursionError):
                continue
            if found:
                return found
    return None


def table(value: Any) -> dict[str, Any]:
    """The value itself where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; whatever else stands in it is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
