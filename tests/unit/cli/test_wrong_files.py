"""Files that a person names on the command line and that are not what they should be: each gets a clear error."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from metalwright.cli.app import refused_by_system, run
from metalwright.errors import MetalwrightError
from metalwright.starter.site import create_site

Arguments = tuple[str, ...]

READERS: dict[str, Arguments] = {
    "plan": ("provision", "--yes", "--plan"),
    "certificate": ("certificate", "verify"),
    "leases": ("discover", "--leases"),
    "stickers": ("credentials", "import-stickers"),
    "snapshot": ("review", "HEAD..HEAD", "--observed"),
    "lab": ("lab", "up", "--file"),
    "faults": ("simulate", "--count", "1", "--port", "0", "--prefix", "127.111.2.0/30", "--faults"),
    "capture": ("simulate", "--count", "1", "--port", "0", "--prefix", "127.111.2.0/30", "--capture"),
    "image": ("image", "add", "--name", "n", "--version", "1", "--sha256", "0" * 64),
}
CONTENTS = {
    "empty": b"",
    "noise": bytes(range(128, 256)) * 8,
    "zeros": b"\0" * 512,
    "utf-16": "schema: 1".encode("utf-16"),
    "torn": b'{"schema": 1, "nodes": [{"no',
    "null": b"null",
    "list": b"[]",
    "deep": b"[" * 1_000,
    "long-number": b'{"digest": ' + b"9" * 10_000 + b"}",
    "text": b"x" * 20_000,
}

NO_FAULT = {("faults", "list"), ("faults", "deep")}
"""A list without groups is a fault file; deep YAML takes seconds, and the lab file's reader has it already."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrong") / "site"
    create_site(root)
    return root


def refused(capsys: pytest.CaptureFixture[str], site: Path, *arguments: str) -> str:
    capsys.readouterr()
    code = run(["--site", str(site), *arguments])
    said = capsys.readouterr()
    assert code in (1, 64), said
    assert "Traceback" not in said.err
    assert "fault of metalwright" not in said.err
    assert said.err.startswith("error: ")
    assert len(said.err) < 10_000
    return said.err


@pytest.mark.parametrize(
    ("reader", "content"),
    [(reader, content) for reader in READERS for content in CONTENTS if (reader, content) not in NO_FAULT],
)
def test_a_file_of_wrong_content_is_refused_by_name(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str], reader: str, content: str
) -> None:
    path = tmp_path / "given"
    path.write_bytes(CONTENTS[content])
    assert str(path) in refused(capsys, site, *READERS[reader], str(path))


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_regular_file_is_refused_and_never_waited_for(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str], reader: str
) -> None:
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (pipe, Path("/dev/zero"), loop, tmp_path / "none", tmp_path / ("n" * 300)):
        assert str(path)[:200] in refused(capsys, site, *READERS[reader], str(path))


@pytest.mark.parametrize("reader", sorted(READERS.keys() - {"image", "capture", "faults", "lab"}))
def test_a_file_that_is_too_large_is_not_read_to_its_end(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str], reader: str
) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)
    assert "too large" in refused(capsys, site, *READERS[reader], str(path))


@pytest.mark.parametrize("word", ["x" * 100_000, "n" * 281, "a\nb", "\0"])
def test_a_word_that_can_be_no_target_is_refused_in_few_lines(
    site: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    refused(capsys, site, "discover", word)


def test_a_list_of_targets_that_names_itself_is_refused(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(f"{two}\n")
    two.write_text(f"{one}\n")
    assert "names itself" in refused(capsys, site, "discover", str(one))


def test_init_refuses_a_file_and_a_name_that_cannot_be(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert "a file of this name" in refused(capsys, site, "init", str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"
    assert "File name too long" in refused(capsys, site, "init", str(tmp_path / ("n" * 300)))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOTDIR, errno.EMFILE, errno.EIO])
def test_a_refusal_of_the_operating_system_says_where_and_what_to_do(number: int) -> None:
    error = refused_by_system(OSError(number, os.strerror(number), "/some/file"))
    assert isinstance(error, MetalwrightError)
    assert (error.where, error.found) == ("/some/file", os.strerror(number))
    assert error.hint


def test_a_certificate_that_is_not_there_is_said_in_one_message(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, site, *READERS["certificate"], str(tmp_path / "none"))
    assert told == f"error: {tmp_path}/none: cannot read the file\n  expected: a file\n  found:    nothing\n"


@pytest.mark.parametrize(
    "words",
    [
        ("status", "--watch", "--json"),
        ("status", "--watch", "--times"),
        ("addresses", "export", "--format", "kea", "--node", "gpu-1"),
        ("addresses", "export", "--format", "hosts", "--for", "boot"),
        ("rebuild", "gpu-1", "--undrained", " "),
        ("provision", "gpu-1", "--undrained", ""),
        ("provision", "gpu-1", "--no-way-back", ""),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    site: Path, capsys: pytest.CaptureFixture[str], words: Arguments
) -> None:
    assert run(["--site", str(site), *words]) == 64
    said = capsys.readouterr()
    assert "error: --" in said.err
    assert said.out == ""


def test_a_state_directory_that_cannot_be_made_is_told_with_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    create_site(tmp_path / "other")
    (tmp_path / "other" / ".metalwright").write_text("a file where a directory belongs")
    told = refused(capsys, tmp_path / "other", "image", "key")
    assert "hint: a file lies where a directory belongs" in told or "hint: something else has that name" in told


@pytest.mark.parametrize(
    "words", [("key",), ("add", "disk.raw", "--name", "n", "--version", "1", "--sha256", "0" * 64)]
)
def test_no_key_is_made_where_there_is_no_site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: Arguments
) -> None:
    refused(capsys, tmp_path / "mistyped", "image", *words)
    assert not (tmp_path / "mistyped").exists()
