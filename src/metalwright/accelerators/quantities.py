"""Numbers, units and switches as the vendors' tools print them (pure). What is no value is ``None``, never zero."""

from __future__ import annotations

import math
import re
from typing import Any

_NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,9})?")
_MAGNITUDES = {"KB": 10**3, "KIB": 2**10, "MB": 2**20, "MIB": 2**20, "GB": 2**30, "GIB": 2**30, "B": 1}
_YES = frozenset({"yes", "enabled", "active", "on", "true"})
_NO = frozenset({"no", "disabled", "not active", "off", "false"})
_PCI_ADDRESS = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE | re.ASCII)


def number(value: Any) -> float | None:
    """The number at the start of ``66.92 W``, ``16x``, ``3`` or ``{"value": 3, "unit": "W"}``; else ``None``.

    >>> number("66.92 W"), number("N/A"), number({"value": 750, "unit": "W"})
    (66.92, None, 750.0)
    """
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 10**18 and math.isfinite(value) else None
    found = _NUMBER.match(value.strip().lstrip("(")) if isinstance(value, str) else None
    return float(found.group()) if found else None


def whole(value: Any) -> int | None:
    """As :func:`number`, where only a whole number makes sense."""
    found = number(value)
    return int(found) if found is not None and found == int(found) else None


def switch(value: Any) -> bool | None:
    """``Enabled``, ``Active``, ``Yes`` are true, their opposites false, all else (``N/A``, errors) unknown."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _YES else False if word in _NO else None


def has_none(value: Any) -> bool:
    """Whether the tool says that the part has no such thing. An error or a missing element is no such word."""
    return isinstance(value, str) and value.strip().lower() in ("n/a", "[n/a]", "not supported", "[not supported]")


def said(value: Any) -> str | None:
    """A text that says something: not empty, not ``N/A``, not a tool's own error."""
    if not isinstance(value, str):
        return None
    text = " ".join(value.split())
    silent = ("", "n/a", "[n/a]", "none", "unknown", "not supported", "[not supported]", "unknown error", "gpu is lost")
    return None if text.lower() in silent or text.lower().startswith("requested functionality") else text


def size_bytes(value: Any, unit: str | None = None) -> int | None:
    """Bytes of ``81559 MiB`` or ``{"value": 196592, "unit": "MB"}``. The tools' MB and GB are powers of two."""
    amount = number(value)
    if isinstance(value, dict):
        unit = value.get("unit") if isinstance(value.get("unit"), str) else None
    elif isinstance(value, str) and unit is None:
        unit = value.strip().rpartition(" ")[2]
    magnitude = _MAGNITUDES.get((unit or "").upper())
    return int(amount * magnitude) if amount is not None and amount >= 0 and magnitude is not None else None


def pci_address(value: Any) -> str | None:
    """One form for a PCI address, as ``lspci -D`` writes it.

    >>> pci_address("00000000:4F:00.0"), pci_address("PCI:0000:10:1c")
    ('0000:4f:00.0', '0000:10:1c.0')
    """
    text = value.strip().removeprefix("PCI:") if isinstance(value, str) else ""
    found = _PCI_ADDRESS.fullmatch(text)
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus.lower()}:{device.lower()}.{function or 0}"
