"""YAML text → tree: positions are right, and what YAML would guess or hide is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.document import MAX_VALUES, parse_document
from metalwright.loading.tree import Mapping, Position, Scalar, locate


def errors_of(text: str) -> tuple[LoadingError, ...]:
    with pytest.raises(InvalidFilesError) as caught:
        parse_document(text, "f.yaml")
    return caught.value.errors


def test_values_keep_source_text_and_position() -> None:
    tree = parse_document("a: 1.10\nb:\n  - no\n  - {c: 0x1F}\n", "f.yaml")
    assert isinstance(tree, Mapping)
    assert tree.entries[0].value == Scalar("1.10", True, Position(1, 4))
    assert locate(tree, ("b", 1, "c")) == Position(4, 9)
    assert locate(tree, ("b", 1, "c"), key=True) == Position(4, 6)
    assert locate(tree, ("b", 7, "zz")) == Position(3, 3)


@pytest.mark.parametrize(
    ("text", "where", "lines"),
    [
        ("a: 1\na: 2\n", "f.yaml:2:1", "line 1 and line 2"),
        ("x:\n  b: 1\n  c: 2\n  b: 3\n", "f.yaml:4:3", "line 2 and line 4"),
        ('x: {"b": 1, b: 2}\n', "f.yaml:1:13", "line 1 and line 1"),
    ],
)
def test_a_duplicate_key_is_refused_with_both_lines(text: str, where: str, lines: str) -> None:
    (error,) = errors_of(text)
    assert (error.where, error.found) == (where, lines)


def test_a_key_that_a_merge_would_repeat_is_refused() -> None:
    (error,) = errors_of("base: &b {a: 1}\nx:\n  <<: *b\n  a: 2\n")
    assert error.where == "f.yaml:3:3"
    assert "merge keys" in error.what


def test_all_duplicates_are_reported_together() -> None:
    assert [error.where for error in errors_of("a: 1\na: 2\nb: 1\nb: 2\n")] == ["f.yaml:2:1", "f.yaml:4:1"]


@pytest.mark.parametrize(
    ("text", "where", "part"),
    [
        ("", "f.yaml:1:1", "empty"),
        ("# only a comment\n\n", "f.yaml:1:1", "empty"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1", "second document"),
        ("a:\n\tb: 1\n", "f.yaml:2:1", "unreadable"),
        ("a: [1, 2\n", "f.yaml:2:1", "unreadable"),
        ("a: b: c\n", "f.yaml:1:5", "unreadable"),
        ("a: 1\nb: \x07\n", "f.yaml:2:4", "control character"),
        ("%YAML 1.1\n---\na: 1\n", "f.yaml:2:1", "YAML 1.2"),
        ("a: *nothing\n", "f.yaml:1:4", "no anchor"),
        ("a: &x [*x]\n", "f.yaml:1:8", "itself"),
        ("a: !!python/object:os.system x\n", "f.yaml:1:4", "tag"),
        ("? [a]\n: 1\n", "f.yaml:1:3", "key must be text"),
        (": 1\n", "f.yaml:1:1", "key must be text"),
    ],
)
def test_unreadable_text_is_refused_at_its_place(text: str, where: str, part: str) -> None:
    error = errors_of(text)[0]
    assert error.where == where
    assert part in error.what


def test_a_tab_is_named_once_and_with_what_to_do() -> None:
    error = errors_of("a:\n\tb: 1\n")[0]
    assert error.found == "character '\\t' that cannot start any token"
    assert error.hint is not None
    assert "never with tabs" in error.hint


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert f"at most {MAX_VALUES} values" in str(errors_of("\n".join(lines))[0])


def test_deep_nesting_is_refused() -> None:
    assert "too deeply" in errors_of("a: " + "[" * 5000)[0].what


def test_an_anchor_may_be_used_again() -> None:
    tree = parse_document("a: &x {k: v}\nb: *x\n", "f.yaml")
    assert isinstance(tree, Mapping)
    assert tree.entries[1].value == tree.entries[0].value


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused_with_a_place(text: str) -> None:
    errors: tuple[LoadingError, ...] = ()
    try:
        parse_document(text, "f.yaml")
    except InvalidFilesError as caught:
        errors = caught.errors
    assert all(error.where.startswith("f.yaml:") for error in errors)
