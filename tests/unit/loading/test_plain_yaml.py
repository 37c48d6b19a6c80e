"""The fast reader never says anything else than the one that explains errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metalwright.errors import InvalidFilesError
from metalwright.loading.document import MAX_DEPTH, MAX_VALUES, _Builder, read_document
from metalwright.loading.plain_yaml import read_plain
from metalwright.loading.tree import Tree, raw_of

ROOT = Path(__file__).resolve().parents[3]
NOT_OURS = {"github-review.yaml", "recipes.yaml"}
"""A workflow that GitHub reads, and a file of the simulator with anchors, which a site may not have."""
SHIPPED = [*ROOT.glob("blueprints/*/*.yaml"), *ROOT.glob("inventory/**/*.yaml"), *ROOT.glob("src/**/*.yaml")]
FILES = sorted(path for path in SHIPPED if path.name not in NOT_OURS)

WORDS = st.sampled_from(
    """a 1.10 5319E7 no ~ null x:=y -=z 'q' "d" [b,=c] {k:=v} {a:1} a:b | > : - , ] } #c =#c 0123 key: k:= ?=k %x @ ` \\
    "\\u0041" \u00e9 \u3000 52:54:00:00:00:01 = ... --- a=#b 'it''s' [ { 5=%""".replace("\n", "").split(" ")
).map(lambda word: word.replace("=", " "))
LINES = st.builds(lambda indent, words: " " * indent + " ".join(words), st.integers(0, 4), st.lists(WORDS, max_size=4))


def explained(text: str) -> Tree | None:
    """What the careful parser says; ``None`` when it refuses."""
    builder = _Builder("f")
    try:
        tree = builder.build(YAML(typ="safe", pure=True).parse(text))
    except Exception:
        return None
    return None if builder.errors else tree


def marked(raw: object) -> object:
    """The values, with quotes told apart."""
    if isinstance(raw, dict):
        return {key: marked(value) for key, value in raw.items()}
    if isinstance(raw, list):
        return [marked(item) for item in raw]
    return type(raw).__name__, raw


def explained_raw(text: str) -> object:
    tree = explained(text)
    return None if tree is None else marked(raw_of(tree))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_shipped_reads_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    fast = read_plain(text, MAX_DEPTH, MAX_VALUES)
    assert fast is not None
    assert marked(fast) == explained_raw(text)


@settings(max_examples=500, deadline=None)
@given(st.lists(LINES, max_size=8).map("\n".join))
@example("a: {b:1}")
@example("a: [x?y, z]")
@example("a: 'x\n  y'\nb: |\n  t\n\n")
@example("a:\n- b\n-  - c")
def test_what_the_fast_reader_accepts_is_what_the_careful_one_reads(text: str) -> None:
    fast = read_plain(text, MAX_DEPTH, MAX_VALUES)
    assert fast is None or marked(fast) == explained_raw(text)


@pytest.mark.parametrize(
    "text",
    ["a: &x 1\nb: *x", "a: !!str 1", "%YAML 1.1\n---\na: 1", "a:\tb", "a: \x85b", "a: 1\n---\nb: 2", "a: 1\na: 2"],
)
def test_unusual_text_is_left_to_the_careful_reader(text: str) -> None:
    assert read_plain(text, MAX_DEPTH, MAX_VALUES) is None


def test_a_document_beyond_a_limit_is_refused_with_a_place() -> None:
    with pytest.raises(InvalidFilesError, match="nested too deeply"):
        read_document("[" * 40 + "]" * 40, "f")
    with pytest.raises(InvalidFilesError, match="too many values"):
        read_document("[" + "1," * (MAX_VALUES + 1) + "]", "f")
