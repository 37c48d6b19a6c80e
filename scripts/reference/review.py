"""The page of what a review says, from the snapshots that tests compare word by word."""

from __future__ import annotations

import re
from pathlib import Path

SNAPSHOTS = Path(__file__).resolve().parents[2] / "tests" / "unit" / "review" / "snapshots"
_LEAD = """\
# What a review says

`metalwright review BASE..HEAD` compares HEAD with where it parted from BASE. Below is, for each kind of change, what it
says of a small fleet: 38 GPU servers in two racks and two plain ones. [How to use it](../how-to/review-a-change.md).

| risk | means |
|---|---|
"""


def render() -> str:
    """The page, as Markdown."""
    from metalwright.review.rules import RISK_WORDS

    risks = "".join(f"| {risk} | {words} |\n" for risk, words in RISK_WORDS.items())
    shown = [(path, *_parts(path.read_text(encoding="utf-8"))) for path in sorted(SNAPSHOTS.glob("*.md"))]
    rows = "".join(f"| [{title}](#{_anchor(title)}) | {_headline(text)} |\n" for _, title, text in shown)
    sections = "".join(f"\n## {title}\n\n````markdown\n{text}````\n" for _, title, text in shown)
    return f"{_LEAD}{risks}\n| change | in one line |\n|---|---|\n{rows}{sections}"


def _parts(text: str) -> tuple[str, str]:
    """Title, and the comment itself."""
    first, _, rest = text.partition("\n")
    return first.removeprefix("<!-- ").removesuffix(" -->"), rest


def _headline(text: str) -> str:
    return text.split("\n\n")[2].strip().replace("|", "\\|")


def _anchor(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title.lower().replace("'", "")).strip("-")
