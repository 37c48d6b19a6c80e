"""References lead to the secret as it was meant: no line end, every other character."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import SecretError
from metalwright.secrets.references import read_secret, without_line_end


def test_an_environment_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BMC_PASSWORD", " p w ")
    assert read_secret("env:BMC_PASSWORD", tmp_path).reveal() == " p w "


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"hunter2\n", "hunter2"), (b"pw\r\n", "pw"), (b" p w ", " p w "), (b"a\n\n", "a\n"), (b"a\nb", "a\nb")],
)
def test_a_file_loses_one_line_end_only(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "secret").write_bytes(content)
    assert read_secret("file:secret", tmp_path).reveal() == expected


def test_a_line_end_is_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "secret").write_text("hunter2-file\n")
    with caplog.at_level(logging.WARNING):
        read_secret("file:secret", tmp_path)
    assert "file:secret ends in a line end" in caplog.text
    assert "hunter2" not in caplog.text


def test_an_absolute_path_stays_absolute(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hunter2")
    assert read_secret(f"file:{tmp_path}/secret", Path("/nowhere")).reveal() == "hunter2"


def test_a_command_is_run_without_a_shell(tmp_path: Path) -> None:
    secret = read_secret(f"command:{sys.executable} -c \"print('hunter2 $HOME; x')\"", tmp_path)
    assert secret.reveal() == "hunter2 $HOME; x"


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        ("env:METALWRIGHT_NOT_SET", "the environment variable is not set"),
        ("file:missing", "the secret's file cannot be read"),
        ("file:.", "the secret's file cannot be read"),
        ("file:empty", "the secret is empty"),
        ("file:binary", "the secret's file is not UTF-8 text"),
        ("file:nul", "the secret holds a NUL character"),
        ("file:large", "too large for a secret"),
        ("command:no-such-program-here", "no such program"),
        ("command:false", "the program failed"),
        ("command:true", "the secret is empty"),
        ("command:'", "the command line cannot be split"),
        ("command: ", "the command line is empty"),
        ("hunter2", "not a reference to a secret"),
    ],
)
def test_what_cannot_be_read_is_a_clear_error(tmp_path: Path, reference: str, what: str) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "nul").write_bytes(b"a\0b")
    (tmp_path / "large").write_bytes(b"x" * 70_000)
    with pytest.raises(SecretError) as caught:
        read_secret(reference, tmp_path)
    assert caught.value.what == what
    assert "hunter2" not in str(caught.value)


def test_the_arguments_of_a_command_are_in_no_error(tmp_path: Path) -> None:
    with pytest.raises(SecretError) as caught:
        read_secret("command:false --token=hunter2", tmp_path)
    assert "hunter2" not in str(caught.value)
    assert caught.value.where == "command:false"


@given(st.text())
def test_at_most_one_line_end_goes(text: str) -> None:
    bare = without_line_end(text)
    assert text in (bare, bare + "\n", bare + "\r\n")
    assert without_line_end(bare + "\n") == bare or bare.endswith("\r")
