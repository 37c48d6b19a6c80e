"""Files: bounds on what is read, and writes that are whole or absent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metalwright.errors import LoadingError
from metalwright.loading.files import MAX_FILE_BYTES, read_text, write_atomically


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read_text(path, root=tmp_path) == "a: 1\nb: 2\n"


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        ("a: 1".encode("utf-16"), ":1:1", "UTF-16"),
        ("a: 1".encode("utf-32"), ":1:1", "UTF-32"),
        (b"a: 1\nb: \xff\n", ":2:4", "byte 0xff"),
        (b"a\n\0\0\0\0", ":2:1", "4 NUL bytes"),
    ],
)
def test_another_encoding_is_refused_at_its_place(tmp_path: Path, data: bytes, place: str, found: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(LoadingError) as caught:
        read_text(path, root=tmp_path)
    assert caught.value.where == f"{path}{place}"
    assert caught.value.found == found


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    with pytest.raises(LoadingError, match="too large"):
        read_text(path, root=tmp_path)


def test_a_link_that_leads_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "site"
    root.mkdir()
    (tmp_path / "secret").write_text("x")
    (root / "f").symlink_to(tmp_path / "secret")
    with pytest.raises(LoadingError, match="outside"):
        read_text(root / "f", root=root)


def test_a_link_inside_the_repository_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").symlink_to("a")
    assert read_text(tmp_path / "b", root=tmp_path) == "x"


@pytest.mark.parametrize("name", ["missing", "directory"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(LoadingError, match="cannot read"):
        read_text(tmp_path / name, root=tmp_path)


def test_a_write_replaces_the_file_with_its_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    write_atomically(path, "new", mode=0o600)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    script = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from metalwright.loading import write_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "write_atomically(Path(sys.argv[1]), 'x' * 5000)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert "LoadingError" in done.stderr
    assert "the old content is unchanged" in done.stderr
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    pipe, directory = tmp_path / "pipe", tmp_path / "directory"
    os.mkfifo(pipe)
    directory.mkdir()
    to_pipe = tmp_path / "link"
    to_pipe.symlink_to(pipe)
    for path in (pipe, directory, to_pipe):
        with pytest.raises(LoadingError, match="no regular file"):
            write_atomically(path, "new")
    assert pipe.is_fifo()
    assert directory.is_dir()
    assert to_pipe.is_symlink()
    assert sorted(tmp_path.iterdir()) == sorted([pipe, directory, to_pipe])
