"""Tolerant readings of single values: what BMCs write where Redfish promises a type. Pure."""

from __future__ import annotations

import math
import re
from enum import Enum
from functools import lru_cache
from typing import Any

from metalwright.model.base import is_filler, normal_mac, normal_uuid


class Odd(Enum):
    """Marks a value that is neither usable nor an accepted way of saying *unknown*."""

    ODD = "odd"


ODD = Odd.ODD

_UNKNOWN_TEXTS = frozenset(
    {"nil", "null", "(null)", "none", "n/a", "na", "unknown", "not available", "not specified", "-"}
)
_NUMBER = re.compile(r"^[+-]?(\d+(\.\d*)?|\.\d+)$")


def text_of(value: Any) -> str | Odd | None:
    """A text with its blanks trimmed and collapsed; numbers become text; blanks and *N/A* are ``None``."""
    if value is None:
        return None
    if isinstance(value, str):
        return _told(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ODD
    return _told(str(value))


@lru_cache(maxsize=8192)
def _told(raw: str) -> str | None:
    """A fleet says the same few thousand things over and over."""
    printable = raw if raw.isprintable() else "".join(char if char.isprintable() else " " for char in raw)
    text = " ".join(printable.split())
    return None if not text or text.casefold() in _UNKNOWN_TEXTS or not any(map(str.isalnum, text)) else text


def identity_of(value: Any) -> str | Odd | None:
    """As :func:`text_of`, but filler values (zeros, repeats, *To be filled by O.E.M.*) are ``None`` too."""
    text = text_of(value)
    return None if isinstance(text, str) and is_filler(text) else text


def number_of(value: Any) -> float | Odd | None:
    """A finite number; numeric text is accepted, blanks and *N/A* are ``None``, booleans are odd."""
    if value is None:
        return None
    if isinstance(value, bool):
        return ODD
    if isinstance(value, (int, float)):
        return float(value) if _is_finite(value) else ODD
    if isinstance(value, str):
        text = value.strip()
        if _NUMBER.match(text) and _is_finite(float(text)):
            return float(text)
        return None if text_of(text) is None else ODD
    return ODD


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value) and abs(value) < 2**63
    except OverflowError:
        return False


def mac_of(value: Any) -> str | Odd | None:
    """A six-octet MAC in normal form; InfiniBand and Fibre Channel addresses are no MACs and come back odd."""
    text = text_of(value)
    if not isinstance(text, str):
        return text
    try:
        return normal_mac(text)
    except ValueError:
        return ODD


def uuid_of(value: Any) -> str | Odd | None:
    """A UUID in normal form, never one of all zeros or one repeated digit."""
    text = identity_of(value)
    if not isinstance(text, str):
        return text
    try:
        return normal_uuid(text)
    except ValueError:
        return ODD


def natural_key(text: str | None) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts ``DIMM 2`` before ``DIMM 10``."""
    parts = re.findall(r"\d+|\D+", text or "")
    return tuple((0, int(part[:18]), part) if part.isdecimal() else (1, 0, part.casefold()) for part in parts)
