"""Whether two spellings name the same product: vendors, BMCs and people write model names differently. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NOISE = re.compile(r"\((r|tm|c)\)|®|™|@.*$|\bcpu\b|\bprocessor\b|\b\d+-core\b", re.IGNORECASE)
_TOKEN = re.compile(r"[a-z0-9]+\+?")
_GPU_MEMORY = re.compile(r"^\d{2,3}gb$")
_GPU_FORMS = ("sxm", "pcie", "nvl", "oam")
_COMPANY_WORDS = frozenset({"inc", "corp", "corporation", "co", "ltd", "company", "international", "enterprise"})


def is_same_maker(wanted: str, found: str) -> bool:
    """Whether two company names mean the same maker: ``Dell`` and ``Dell Inc.``."""
    first, second = _words(wanted), _words(found)
    return bool(first and second) and first[0] == second[0]


def is_model(wanted: str, found: str) -> bool:
    """Whether every word of the wanted model is in the found one (``Xeon Gold 6354`` in ``Intel(R) Xeon(R) Gold…``)."""
    words = _TOKEN.findall(_NOISE.sub(" ", wanted.casefold()))
    there = set(_TOKEN.findall(_NOISE.sub(" ", found.casefold())))
    return bool(words) and (set(words) <= there or "".join(words) == _run_together(found))


def is_any_model(wanted: Iterable[str], *found: str | None) -> bool:
    """Whether one of the found spellings (model, part number) is one of the wanted models."""
    return any(is_model(model, text) for model in wanted for text in found if text is not None)


def is_gpu(wanted: str, found: str) -> bool:
    """As :func:`is_model`, but form factor and memory size contradict only where both names give them.

    ``H100 SXM 80GB`` is the ``H100 80GB HBM3`` of a BMC that leaves the form factor out; ``H100 PCIe`` is not.
    """
    want, have = _gpu_words(wanted), _gpu_words(found)
    for kind in (_form, _memory):
        first, second = kind(want), kind(have)
        if first is not None and second is not None and first != second:
            return False
    core = {word for word in want if _form([word]) is None and _memory([word]) is None}
    return bool(core) and core <= set(have)


def _run_together(text: str) -> str:
    return "".join(_TOKEN.findall(_NOISE.sub(" ", text.casefold())))


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", text.casefold()) if word not in _COMPANY_WORDS]


def _gpu_words(text: str) -> list[str]:
    words = re.findall(r"[a-z0-9]+", text.casefold())
    return [word for word in words if word not in ("nvidia", "amd", "intel", "instinct", "tensor", "core", "gpu")]


def _form(words: list[str]) -> str | None:
    return next((form for word in words for form in _GPU_FORMS if re.fullmatch(rf"{form}\d?", word)), None)


def _memory(words: list[str]) -> str | None:
    return next((word for word in words if _GPU_MEMORY.match(word)), None)


def told_slot(slot: str | None) -> str:
    """A slot in a sentence: a bare number says what it counts.

    >>> told_slot("3")
    'slot 3'
    """
    if slot is None:
        return "unknown slot"
    return f"slot {slot}" if slot.isdecimal() else slot
