"""What a reviewer reads, for each kind of change, word by word.

``METALWRIGHT_WRITE_SNAPSHOTS=1`` writes the snapshots anew; read them before they are committed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import KINDS, Kind, fleet

from metalwright.review.markdown import render_markdown
from metalwright.reviewing import review_states

__all__ = ["fleet"]

SNAPSHOTS = Path(__file__).with_name("snapshots")


def reviewed(kind: Kind, fleet: Path, directory: Path) -> str:
    base, head = directory / "base", directory / "head"
    shutil.copytree(fleet, base)
    if kind.before is not None:
        kind.before(base)
    shutil.copytree(base, head)
    kind.change(head)
    return render_markdown(review_states(base, head, ("base", "head"), kind.given))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_reviewer_reads(kind: Kind, fleet: Path, tmp_path: Path) -> None:
    text = f"<!-- {kind.title} -->\n{reviewed(kind, fleet, tmp_path)}"
    path = SNAPSHOTS / f"{kind.name}.md"
    if os.environ.get("METALWRIGHT_WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert str(tmp_path) not in text
    assert text == path.read_text(encoding="utf-8")


def test_every_snapshot_belongs_to_a_kind_of_change() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.md")} == {kind.name for kind in KINDS}
