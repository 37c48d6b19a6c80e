"""What a step of a runbook says for its failure, narrowed to the failure that happened. Pure.

A paragraph that begins with a bold *If* may name codes of failures in it, as in *If it stops with `drain`*.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from metalwright.model.runbook import RunbookCommand

_LEAD = re.compile(r"\*\*(If\b.+?)\*\*", re.DOTALL)
_CODE = re.compile(r"`([a-z]+(?:-[a-z]+)*)`")


def ways_out(if_fails: str, codes: Collection[str]) -> str:
    """The paragraphs for these codes and those for no code; all of them where none is for one of these codes."""
    kept = [text for text, named in _paragraphs(if_fails) if not named or named & set(codes)]
    is_known = any(named & set(codes) for _, named in _paragraphs(if_fails))
    return "\n\n".join(kept) if is_known else if_fails


def offered(commands: Iterable[RunbookCommand], if_fails: str, codes: Collection[str]) -> tuple[RunbookCommand, ...]:
    """The commands of those paragraphs that are for one of these codes, or for none by name.

    Where nothing tells which code it was, what is meant for one code alone is not offered: it may destroy.
    """
    texts = [text for text, named in _paragraphs(if_fails) if not named or named & set(codes)]
    return tuple(item for item in commands if any(f"$ {item.text}\n" in f"{text}\n" for text in texts))


def _paragraphs(if_fails: str) -> list[tuple[str, set[str]]]:
    """Each paragraph with what belongs to it, and the codes that its first words name."""
    parts = re.split(r"\n\n(?=\*\*If\b)", if_fails.strip())
    leads = [(part, _LEAD.match(part)) for part in parts]
    return [(part, set(_CODE.findall(lead[1])) if lead else set()) for part, lead in leads]
