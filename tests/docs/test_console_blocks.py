"""The convention itself: a wrong transcript must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.console_blocks import Session, matches, plain_environment, read_blocks, run_blocks

PAGE = """
<!-- not run: needs a television -->
```console
$ tv on
```

```console
$ export GREETING="good \\
> day"
$ cat > notes << END
> one
>
>   two
> END
$ wc -l < notes
3
$ mkdir inner && cd inner
$ echo "$GREETING" && pwd
good day
.../inner
$ false
$ echo $?
1
```

```yaml
a: 1
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_a_page_is_read_with_marks_lines_and_continuations(page: Path) -> None:
    television, shell, data = read_blocks(page)
    assert (television.where, television.reason) == ("not run", "needs a television")
    assert (shell.where, shell.line, data.language) == ("site", 7, "yaml")
    assert [command.text for command in shell.commands][:2] == [
        'export GREETING="good day"',
        "cat > notes << END\none\n\n  two\nEND",
    ]
    assert shell.commands[4].shown == ("good day", ".../inner")


def test_directory_variables_and_exit_codes_carry_over(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.docs.console_blocks.ROOT", tmp_path)
    session = Session(tmp_path, tmp_path, plain_environment(tmp_path))
    run_blocks([block for block in read_blocks(page) if block.where == "site"], session)
    assert session.directory == tmp_path / "inner"


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        (("a", "..."), "a\nb\nc\n", True),
        (("...", "c"), "a\nb\nc\n", True),
        (("...", "c"), "c\n", True),
        (("a", "c"), "a\nb\nc\n", False),
        (("sha256:ab… ok",), "sha256:ab12   ok\n", True),
        (("1 node",), "11 nodes\n", False),
        (("a | b",), "a  |  b\n", True),
    ],
)
def test_output_is_compared_loosely_but_not_blindly(shown: tuple[str, ...], output: str, same: bool) -> None:
    assert matches(shown, output) is same


def test_a_command_that_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.docs.console_blocks.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n$ echo done\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:2: \$ false\nexited 1"):
        run_blocks(list(read_blocks(page)), Session(tmp_path, tmp_path, plain_environment(tmp_path)))
