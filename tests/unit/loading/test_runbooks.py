"""Runbooks are read as they are written: steps, commands, marks, and what to do if a step fails."""

from __future__ import annotations

import pytest

from metalwright.errors import LoadingError
from metalwright.loading.runbooks import parse_runbook

BOOK = """# Replace a drive

Takes ten minutes.

## 1. Look

Read *this* first.

<!-- ok: 0 2 -->
```console
$ metalwright match NODE
lab-1  FAIL
$ metalwright status NODE
```

**If this fails:** find out who works on it.

```console
$ metalwright cancel NODE --why WHY
```

## 2. Pull the drive

Its LED blinks.

## 3. Rebuild

<!-- confirm -->
```console
$ metalwright rebuild NODE
```

<!-- example -->
```console
$ ssh NODE
```

```text
not a command
```
"""


def test_sections_are_steps_and_fences_are_their_commands() -> None:
    book = parse_runbook(BOOK, "replace-drive", where="runbooks/replace-drive.md")
    assert (book.title, book.intro) == ("Replace a drive", "Takes ten minutes.")
    look, pull, rebuild = book.steps
    assert [(command.text, command.line, command.ok_codes) for command in look.commands] == [
        ("metalwright match NODE", 11, (0, 2)),
        ("metalwright status NODE", 13, (0, 2)),
    ]
    assert look.prose.startswith("Read *this* first.")
    assert "who works on it" not in look.prose
    assert look.if_fails.startswith("**If this fails:** find out")
    assert [command.text for command in look.if_fails_commands] == ["metalwright cancel NODE --why WHY"]
    assert (pull.kind, pull.prose) == ("by-hand", "Its LED blinks.")
    assert [(command.text, command.needs_confirmation) for command in rebuild.commands] == [
        ("metalwright rebuild NODE", True)
    ]
    assert "<!--" not in rebuild.prose


def test_another_text_has_another_digest() -> None:
    first = parse_runbook(BOOK, "a", where="a.md")
    assert first.digest == parse_runbook(BOOK, "a", where="a.md").digest
    assert first.digest != parse_runbook(BOOK + "\n", "a", where="a.md").digest


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("", "a.md", "the runbook is empty"),
        ("# T\n", "a.md", "the runbook has no steps"),
        ("prose\n\n# T\n", "a.md:1", "does not begin with its title"),
        ("# T\n\n## Background\n", "a.md:3", "a section is not a step"),
        ("# T\n\n## 2. Look\n", "a.md:3", "the steps are not numbered in order"),
        ("# T\n\n## 1. Look\n\n# U\n", "a.md:5", "a runbook has one title"),
        ("# T\n\n```console\n$ metalwright status\n```\n\n## 1. Look\n", "a.md:3", "before the first step"),
    ],
)
def test_what_is_no_runbook_is_refused_with_its_line(text: str, where: str, what: str) -> None:
    with pytest.raises(LoadingError, match=what) as caught:
        parse_runbook(text, "a", where="a.md")
    assert caught.value.where == where
