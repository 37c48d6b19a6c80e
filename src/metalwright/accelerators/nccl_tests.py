"""Output of NCCL's and RCCL's tests, such as ``all_reduce_perf`` (pure)."""

from __future__ import annotations

import re
from typing import Literal

from metalwright.accelerators.quantities import number, whole
from metalwright.model.base import Frozen

_RANK = re.compile(r"^#\s+Rank\s+(\d+)\s", re.MULTILINE)
_VERSION = re.compile(r"\b[NR]CCL version\s*:?\s*(\S+)")
_AVERAGE = re.compile(r"^\s*#\s*Avg bus bandwidth\s*:\s*(\S+)", re.MULTILINE)
_BOUNDS = re.compile(r"^\s*#\s*Out of bounds values\s*:\s*(\d{1,15})\s+(\S+)", re.MULTILINE)
_ERROR = re.compile(r"^.*(?:Test [NR]CCL failure|Test CUDA failure|Test failure|NCCL WARN|\berror\b).*$", re.M | re.I)
_COLUMNS = 8
"""Figures at the end of a row: time, algorithm and bus bandwidth, errors; out of place, then in place."""


class Transfer(Frozen):
    """One measurement: message size, time, algorithm and bus bandwidth, and wrong values (``None``: not checked)."""

    size_bytes: int
    placement: Literal["out-of-place", "in-place"]
    time_us: float
    algorithm_gb_per_s: float
    bus_gb_per_s: float
    wrong: int | None


class CollectiveTest(Frozen):
    """A whole run. ``bus_gb_per_s`` is the tool's own average over all sizes; the peak is over single sizes."""

    library_version: str | None = None
    ranks: int | None = None
    transfers: tuple[Transfer, ...] = ()
    bus_gb_per_s: float | None = None
    out_of_bounds: int | None = None
    errors: tuple[str, ...] = ()

    @property
    def peak_gb_per_s(self) -> float | None:
        """The best bus bandwidth of any size."""
        return max((item.bus_gb_per_s for item in self.transfers), default=None)

    @property
    def wrong(self) -> int | None:
        """Wrong values over all sizes; ``None`` unless every size was checked."""
        counts = [item.wrong for item in self.transfers]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    @property
    def has_worked(self) -> bool:
        """Data moved, the run reached its end, nothing failed and no value was wrong.

        Rows of zeros and a summary of zero are no work; a run without the summary was cut off.
        """
        moved = any(item.time_us > 0 and item.bus_gb_per_s > 0 and item.size_bytes > 0 for item in self.transfers)
        ended = bool(self.bus_gb_per_s) and self.out_of_bounds == 0
        return moved and ended and not self.errors and self.wrong in (0, None)


def parse(text: str) -> CollectiveTest:
    """Read the output; what it lacks is ``None`` or empty. An average of ``inf`` or ``nan`` is unknown."""
    bounds, average, version = _BOUNDS.search(text), _AVERAGE.search(text), _VERSION.search(text)
    return CollectiveTest(
        library_version=version[1] if version else None,
        ranks=len({rank[1] for rank in _RANK.finditer(text)}) or None,
        transfers=tuple(item for line in text.splitlines() for item in _transfers(line)),
        bus_gb_per_s=number(average[1]) if average else None,
        out_of_bounds=_failures(bounds[1], bounds[2]) if bounds else None,
        errors=tuple(line.strip()[:200] for line in _complaints(text)),
    )


def _failures(count: str, word: str) -> int | None:
    """``0 OK``; ``0 FAILED`` contradicts itself and is unknown."""
    return int(count) if (int(count) == 0) == (word == "OK") else None


def _complaints(text: str) -> list[str]:
    """Lines that tell of a failure; the header of the old tests has a column named ``error``."""
    return [found[0] for found in _ERROR.finditer(text) if not found[0].lstrip().startswith("#")]


def _transfers(line: str) -> tuple[Transfer, ...]:
    words = line.split()
    size = whole(words[0]) if len(words) > _COLUMNS + 2 and words[0].isdecimal() else None
    if size is None:
        return ()
    figures = words[-_COLUMNS:]
    places: tuple[Literal["out-of-place", "in-place"], ...] = ("out-of-place", "in-place")
    return tuple(
        item
        for place, four in zip(places, (figures[:4], figures[4:]), strict=True)
        if (item := _one(size, place, four))
    )


def _one(size: int, place: Literal["out-of-place", "in-place"], words: list[str]) -> Transfer | None:
    time_us, algorithm, bus = map(number, words[:3])
    if time_us is None or algorithm is None or bus is None:
        return None
    wrong = int(words[3]) if words[3].isdecimal() else None
    return Transfer(
        size_bytes=size, placement=place, time_us=time_us, algorithm_gb_per_s=algorithm, bus_gb_per_s=bus, wrong=wrong
    )
