"""Versions: compared part by part, never as text or floats; what cannot be compared is unknown, never equal."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from metalwright.lifecycle.observations import VersionCheck
from metalwright.model.report import HardwareReport

_CONSTRAINT = re.compile(r"^(==|>=|<=|>|<)\s*(\S+)$")
_PLAIN = re.compile(r"^[vV]?(\d+(?:[.\-_]\d+)*)$")
_OPERATORS: Mapping[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    "==": operator.eq,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def parts(version: str) -> tuple[int, ...] | None:
    """The numbers of a plain dotted version, trailing zeros dropped; ``None`` for anything else.

    ``4.10`` is (4, 10), ``5.3.010`` is (5, 3, 10); ``U32 v2.10 (05/2024)`` is ``None``.
    """
    found = _PLAIN.match(version.strip())
    if found is None:
        return None
    numbers = [int(part) for part in re.split(r"[.\-_]", found.group(1))]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def satisfies(version: str | None, constraint: str) -> bool | None:
    """Whether a version satisfies ``>=1.4`` and the like; ``None`` when it cannot be known.

    Raises:
        ValueError: the constraint is malformed.
    """
    found = _CONSTRAINT.match(constraint)
    if found is None:
        raise ValueError(f"{constraint!r} is no version constraint such as >=1.4")
    sign, wanted = found.groups()
    if version is None or not version.strip():
        return None
    left, right = parts(version), parts(wanted)
    if left is None or right is None:
        return True if sign == "==" and version.strip() == wanted else None
    return _OPERATORS[sign](left, right)


def firmware_checks(constraints: Mapping[str, str], report: HardwareReport) -> tuple[VersionCheck, ...]:
    """Each constraint against what the BMC reports. ``bmc``, ``bios`` and ``gpu`` are known; other names are looked
    up among the ids and names of the firmware inventory.
    """
    checks: list[VersionCheck] = []
    for name, constraint in constraints.items():
        versions = _versions(name, report) or [None]
        checks += [VersionCheck(name, constraint, found, satisfies(found, constraint)) for found in versions]
    return tuple(checks)


def _versions(name: str, report: HardwareReport) -> list[str | None]:
    match name:
        case "bmc":
            return [report.bmc.firmware_version]
        case "bios":
            return [report.system.bios_version]
        case "gpu":
            return sorted({gpu.firmware_version for gpu in report.gpus or ()}, key=str)
    wanted = _slug(name)
    items = report.firmware or ()
    return [item.version for item in items if wanted in (_slug(item.id), _slug(item.name or ""))]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
