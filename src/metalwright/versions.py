"""Versions: compared part by part, never as text or floats; what cannot be compared is unknown, never equal.

A version is a family (``U54`` of HPE's ROMs, ``HGX`` of NVIDIA's baseboards; usually empty), numbers, and what comes
after them (a letter, a build word, a commit). Only versions of one family are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest

_TERM = re.compile(r"^(==|>=|<=|>|<)\s*(\S.*)$")
_SPLIT = re.compile(r"[.\-_]")
_HEX_PAIRS = re.compile(r"^[0-9A-F]{2}(?:\.[0-9A-F]{2}){2,}$")
_WORD = re.compile(r"^([a-z]+)(\d*)$")
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"

_FORMS: tuple[tuple[str, str], ...] = (
    (r"(?:idrac|ilo)\s*\d?\s+v?(?P<body>\d[\w.\-]*)", "Dell and HPE: product name, version"),
    (r"bios date: \S+ ver (?P<body>\S+)", "Supermicro X13: BIOS Date: 08/04/2023 Ver 1.4"),
    (r"(?P<family>[a-z]\d{2}) v(?P<body>\d+\.\d+)(?: \(\d\d/(?:\d\d/)?\d{4}\))?", "HPE: ROM family, version, date"),
    (
        r"(?P<family>[a-z0-9]{4})\d{2}[a-z][ -](?P<body>\d+\.\d+)(?: \d{4}-\d\d-\d\d)?",
        "Lenovo XCC; SMBIOS: U8E122J-1.51",
    ),
    (
        r"(?P<build_id>[a-z][a-z0-9]{3})(?P<body>\d{2}[a-z])",
        "Lenovo's build id alone: 14E, 22H, 22J were versions 1.10, 1.50, 1.51 of SR670 V2's UEFI (XClarity's lists)",
    ),
    (
        r"(?P<family>[a-z0-9]+\.86b)\.(?P<body>\d{2}\.\d{2})\.(?P<point>\d)(?P<release>\d{3})(?:\.(?P<tail>[\w.]+))?",
        "Intel (S2600 product specification): board family, OEM, major, minor, release, build time. Full releases "
        "count up; where a point release (first digit not 0) stands among them is not written there",
    ),
    (
        r"(?P<family>nc|cc|sc)[.-](?P<body>\d+\.\d+\.\d+)(?:-(?P<tail>\S+))?",
        "Cray controllers: HPE's own firmware service compares nc.1.3.10-shasta-release… as the version 1.3.10",
    ),
    (r"\d{2}[a-z]-(?P<body>\d+\.\d+)", "Lenovo's firmware inventory: build, version 22J-1.51"),
    (r"(?P<family>[a-z])(?P<body>\d{2})", "Gigabyte's BIOS: C27; HPE names C37 as the lowest for such boards"),
    (rf"(?P<body>\d[\w.\-]*) (?:{_MONTHS})[a-z]* \d{{1,2}} \d{{4}}", "HPE iLO 7: version, build date"),
    (r"(?P<body>\d[\w.\-]*) build (?P<build>\d+)", "HPE platform data: 2.3.0 Build 17"),
    (r"(?P<family>[a-z][a-z0-9.]*)-(?P<body>\d[\w.\-]*)", "NVIDIA: GB200Nvl-24.12-8, HGX-22.10-1-rc34"),
    (r"v?(?P<body>\d[\w.\-]*)", "plain"),
)
"""What makers write around a version, first match counts; each with where it was seen. Dates never order versions.

Unknown stays, among others, ``R14_F37`` (Gigabyte): neither the maker's pages nor public code or issues that were
searched say how its two numbers count.
"""


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    """The forms, compiled when the first version is read: most commands read none."""
    return tuple(re.compile(form, re.IGNORECASE) for form, _ in _FORMS)


@dataclass(frozen=True, slots=True)
class Version:
    """A version taken apart. ``rest`` are the parts after the leading numbers, lower case."""

    family: str
    numbers: tuple[int, ...]
    rest: tuple[str, ...] = ()
    build: str = ""
    """What names one build of these numbers: two that differ have no order, and a version without one is both."""
    is_hexadecimal: bool = False
    """Whether every part is two hexadecimal digits and one has a letter, as in NVIDIA's VBIOS 96.00.AF.00.02."""
    is_build_id: bool = False
    """Whether it names a build and no version, as Lenovo's U8E122J; only such are compared with it."""

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """What two versions must share to be compared."""
        return self.family, self.is_hexadecimal, self.is_build_id


def parse_version(text: str, *, is_hexadecimal: bool = False) -> Version | None:
    """Return the version in ``text``, or None when it has no form that can be compared.

    ``4.10`` has the numbers (4, 10), ``U54 v2.10 (05/2024)`` the family ``u54`` and (2, 10).
    """
    flat = " ".join(text.split())
    if _HEX_PAIRS.match(flat) and (is_hexadecimal or re.search("[A-F]", flat)):
        return Version("", tuple(int(part, 16) for part in flat.split(".")), is_hexadecimal=True)
    for form in _compiled():
        found = form.fullmatch(flat)
        if found is not None:
            return _of_groups({name: text or "" for name, text in found.groupdict().items()})
    return None


def _of_groups(groups: Mapping[str, str]) -> Version:
    family, body = groups.get("family", "").lower(), groups["body"]
    if groups.get("build_id"):
        return replace(_of_body(groups["build_id"].lower(), body.lower()), is_build_id=True)
    if "release" in groups:
        body += f".{groups['release']}" if groups["point"] == "0" else f".point{groups['point']}{groups['release']}"
    body += f".{groups['build']}" if groups.get("build") else ""
    return replace(_of_body(family, body), build=groups.get("tail", ""))


def _of_body(family: str, body: str) -> Version:
    parts = [part for part in _SPLIT.split(body) if part]
    numbers: list[int] = []
    while parts and parts[0].isdecimal() and parts[0].isascii():
        numbers.append(int(parts.pop(0)))
    # a capital letter may be a hexadecimal digit (1.7.5F), so that its order is not known
    lettered = re.match(r"^(\d+)([a-z])$", parts[0]) if parts else None
    if lettered is not None and len(parts) == 1:
        return Version(family, (*numbers, int(lettered[1])), (lettered[2],))
    return Version(family, tuple(numbers), tuple(part.lower() for part in parts))


def compare(left: str, right: str) -> int | None:
    """Return -1, 0 or 1 as ``left`` is older than, the same as or newer than ``right``; None when nobody can say."""
    if left.strip() == right.strip():
        return 0
    one, other = parse_version(left), parse_version(right)
    if one is not None and other is not None and one.is_hexadecimal is not other.is_hexadecimal:
        one, other = parse_version(left, is_hexadecimal=True), parse_version(right, is_hexadecimal=True)
    if one is None or other is None or one.kind != other.kind:
        return None
    order = _compare_parts(one, other)
    return None if order == 0 and one.build and other.build and one.build != other.build else order


def _compare_parts(one: Version, other: Version) -> int | None:
    for mine, theirs in zip(one.numbers, other.numbers, strict=False):
        if mine != theirs:
            return 1 if mine > theirs else -1
    shorter = min((one, other), key=lambda version: len(version.numbers))
    if len(one.numbers) != len(other.numbers) and shorter.rest:
        return None
    if not one.rest and not other.rest:
        padded = list(zip_longest(one.numbers, other.numbers, fillvalue=0))
        left, right = tuple(a for a, _ in padded), tuple(b for _, b in padded)
        return (left > right) - (left < right)
    if len(one.numbers) != len(other.numbers):
        return None
    return _compare_rest(one.rest, other.rest)


def _compare_rest(one: tuple[str, ...], other: tuple[str, ...]) -> int | None:
    """Letters count up (1.0, 1.0a, 1.0b); the same build word is compared by its number; all else is unknown."""
    if one == other:
        return 0
    if all(len(rest) <= 1 and (not rest or (len(rest[0]) == 1 and rest[0].isalpha())) for rest in (one, other)):
        return 1 if one > other else -1
    if len(one) == len(other) == 1:
        mine, theirs = _WORD.match(one[0]), _WORD.match(other[0])
        if mine and theirs and mine[1] == theirs[1] and mine[2] and theirs[2]:
            return (int(mine[2]) > int(theirs[2])) - (int(mine[2]) < int(theirs[2]))
    return None


_HOLDS: Mapping[str, frozenset[int]] = {
    "==": frozenset({0}),
    ">=": frozenset({0, 1}),
    "<=": frozenset({0, -1}),
    ">": frozenset({1}),
    "<": frozenset({-1}),
}


def satisfies(version: str | None, constraint: str) -> bool | None:
    """Whether a version satisfies a constraint; None when it cannot be known.

    ``>=1.4`` and the like; terms joined by ``,`` must all hold, of alternatives joined by ``|`` one.

    Raises:
        ValueError: the constraint is malformed.
    """
    verdicts = []
    for alternative in constraint.split("|"):
        terms = [_term(version, term) for term in alternative.split(",")]
        verdicts.append(False if False in terms else None if None in terms else True)
    return True if True in verdicts else None if None in verdicts else False


def _term(version: str | None, text: str) -> bool | None:
    found = _TERM.match(text.strip())
    if found is None:
        raise ValueError(f"{text.strip()!r} is no version constraint such as >=1.4")
    sign, wanted = found[1], found[2].strip()
    if version is None or not version.strip():
        return None
    order = compare(version, wanted)
    return None if order is None else order in _HOLDS[sign]
