"""Host memory: its total, its number of modules, and the size of each. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from metalwright.matching.look import Look
from metalwright.model.blueprint import Memory
from metalwright.model.finding import Finding
from metalwright.model.report import Dimm

TOTAL_TOLERANCE = 0.03
"""Of a total that only the system's summary tells: firmware rounds, mirrors and reserves."""

SUMMARY_IS_EXACT = 0.005
"""Closer than half of one module among 64, a summary is believed; between this and the tolerance it is not."""

MODULE_SIZES_GIB = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


def memory_findings(look: Look, wanted: Memory) -> Iterator[Finding]:
    """Number of DIMMs, the size of each where all should be alike, and the total."""
    dimms = look.report.memory.dimms
    usual = _usual(dimms or (), wanted)
    like = next((dimm for dimm in dimms or () if dimm.size_gib == usual and dimm.part_number is not None), None)
    size = [f"a DIMM of {usual:g} GiB"] if usual is not None and like is None else []
    hint = look.would_do("memory", size, [_described(like) if like is not None else None])
    wrong = look.count("dimm", dimms, wanted.dimms, "DIMMs", hint) if wanted.dimms is not None else []
    wrong += _of_other_size(look, dimms or (), wanted, hint)
    yield from wrong
    if not any(item.verdict == "FAIL" for item in wrong):
        yield from _total(look, wanted)


def _of_other_size(look: Look, dimms: Sequence[Dimm], wanted: Memory, hint: str) -> Iterator[Finding]:
    """Modules that are not of the one size that total and number leave."""
    size_gib = module_size_gib(wanted)
    for dimm in dimms if size_gib is not None else ():
        if dimm.size_gib is not None and dimm.size_gib != size_gib:
            yield look.fail("dimm-size", dimm.slot, f"{size_gib} GiB", _described(dimm), hint)


def module_size_gib(wanted: Memory) -> int | None:
    """The size of one module, where total and number of modules leave only one; ``None`` where sizes are mixed."""
    if wanted.dimms is None:
        return None
    size_gib, rest = divmod(wanted.total_gib, wanted.dimms)
    return size_gib if rest == 0 and size_gib in MODULE_SIZES_GIB else None


def _total(look: Look, wanted: Memory) -> Iterator[Finding]:
    """The sum of the modules may be off by less than half the smallest; a summary by a few per cent."""
    memory = look.report.memory
    expected = f"{wanted.total_gib} GiB"
    sizes = [dimm.size_gib for dimm in memory.dimms or () if dimm.size_gib is not None]
    is_summed = bool(sizes) and len(sizes) == len(memory.dimms or ()) and sum(sizes) == memory.total_gib
    if memory.total_gib is None:
        yield look.unknown("memory", expected)
        return
    allowed_gib = min(sizes) / 2 if is_summed else TOTAL_TOLERANCE * wanted.total_gib
    off_gib = abs(memory.total_gib - wanted.total_gib)
    unsized = [dimm.slot or "?" for dimm in memory.dimms or () if dimm.size_gib is None]
    if unsized:
        yield look.unknown("dimm-size", expected, ", ".join(unsized), found=f"{sum(sizes):g} GiB in the others")
    elif off_gib > allowed_gib or (is_summed and off_gib == allowed_gib):
        hint = _odd_ones(memory.dimms or ()) or "compare the modules with those that `metalwright inspect` lists"
        yield look.fail("memory-total", None, expected, f"{memory.total_gib:g} GiB", hint)
    elif not is_summed and off_gib > SUMMARY_IS_EXACT * wanted.total_gib:
        yield look.unknown("memory", expected, found=f"{memory.total_gib:g} GiB by the system's summary alone")


def _usual(dimms: Sequence[Dimm], wanted: Memory) -> float | None:
    sizes = Counter(dimm.size_gib for dimm in dimms if dimm.size_gib is not None)
    return module_size_gib(wanted) or (sizes.most_common(1)[0][0] if sizes else None)


def _odd_ones(dimms: Sequence[Dimm]) -> str | None:
    sizes = Counter(dimm.size_gib for dimm in dimms if dimm.size_gib is not None)
    if not sizes:
        return None
    usual = sizes.most_common(1)[0][0]
    odd = [f"{dimm.slot} {dimm.size_gib:g} GiB" for dimm in dimms if dimm.size_gib not in (None, usual)]
    return f"most are {usual:g} GiB, these are not: {', '.join(odd)}" if odd else None


def _described(dimm: Dimm) -> str:
    size = f"{dimm.size_gib:g} GiB" if dimm.size_gib is not None else "size unknown"
    return " ".join(text for text in (size, dimm.manufacturer, dimm.part_number) if text)
