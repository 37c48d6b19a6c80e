"""A journal is made once and whole; a damaged or foreign one is refused and left as it is."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.desired import site

from metalwright.errors import JournalError
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_journal, open_sqlite, open_url, read_sqlite


def _made(path: Path) -> str:
    with Journal(open_sqlite(path)) as journal:
        return journal.id


def test_the_id_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal.sqlite"
    assert _made(path) == _made(path)


def test_two_journals_have_two_ids(tmp_path: Path) -> None:
    assert _made(tmp_path / "one.sqlite") != _made(tmp_path / "two.sqlite")


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal.sqlite"
    with Journal(open_sqlite(path)) as journal:
        journal.events.note("something")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_survives_a_power_cut_by_design(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    database = open_sqlite(path)
    with database.write("settings") as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    database.close()


@pytest.mark.parametrize(
    "content",
    [b"", b'{"hosts": {"a"', b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 4080],
    ids=["empty", "half json", "zeros", "header only"],
)
def test_st_01_an_unreadable_journal_is_refused_and_not_touched(tmp_path: Path, content: bytes) -> None:
    """Keeps state in transactions; an unreadable journal stops everything and is never replaced by a new one."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    with pytest.raises(JournalError) as caught:
        open_sqlite(path)
    assert caught.value.where == str(path)
    assert caught.value.hint is not None
    assert path.read_bytes() == content


def test_st_01_a_truncated_journal_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    _made(path)
    torn = path.read_bytes()[: path.stat().st_size // 2]
    path.write_bytes(torn)
    with pytest.raises(JournalError, match="journal"):
        open_sqlite(path)
    assert path.read_bytes() == torn


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="not a journal"):
        open_sqlite(path)
    assert path.read_bytes() == before


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    _made(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE journal SET schema_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(JournalError) as caught:
        open_sqlite(path)
    assert caught.value.found == "schema version 99"


def test_st_01_a_log_without_its_journal_is_not_taken_for_a_fresh_start(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.with_name("journal.sqlite-wal").write_bytes(b"x" * 100)
    with pytest.raises(JournalError, match="its log is there"):
        open_sqlite(path)
    assert not path.exists()


def test_a_place_that_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError) as caught:
        open_sqlite(tmp_path / "file" / "journal.sqlite")
    assert str(tmp_path / "file") in caught.value.where


def test_processes_that_start_together_share_one_journal(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from metalwright.journal.journal import Journal\n"
        "from metalwright.journal.opening import open_sqlite\n"
        "children = [os.fork() for _ in range(2)]\n"
        "os.write(1, (Journal(open_sqlite(Path(sys.argv[1]))).id + chr(10)).encode())\n"
        "for child in children:\n"
        "    if child:\n"
        "        os.waitpid(child, 0)\n"
    )
    path = tmp_path / "journal.sqlite"
    output = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60)
    identifiers = output.stdout.split()
    assert len(identifiers) == 4
    assert len(set(identifiers)) == 1
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_a_url_journal_is_made_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/team.db"
    with Journal(open_url(url)) as first, Journal(open_url(url)) as second:
        assert first.id == second.id


def test_a_site_may_keep_its_journal_behind_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOURNAL_URL", f"sqlite:///{tmp_path}/team.db")
    with open_journal(site(journal="env:JOURNAL_URL"), tmp_path / ".metalwright") as journal:
        assert journal.where == f"sqlite:///{tmp_path}/team.db"
    with open_journal(site(), tmp_path / ".metalwright") as own:
        assert own.where == str(tmp_path / ".metalwright" / "journal.sqlite")
        assert own.id != journal.id


def test_a_url_without_its_driver_says_what_to_install() -> None:
    with pytest.raises(JournalError) as caught:
        open_url("postgresql+no_such_driver://somebody:hunter2@db/metalwright")
    assert "hunter2" not in str(caught.value)


def test_st_01_a_full_disk_is_an_error_and_the_old_content_stays(tmp_path: Path) -> None:
    """Keeps state in transactions; an unreadable journal stops everything and is never replaced by a new one."""
    path = tmp_path / "journal.sqlite"
    with Journal(open_sqlite(path)) as journal:
        journal.events.note("before")
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from metalwright.errors import JournalError\n"
        "from metalwright.journal.journal import Journal\n"
        "from metalwright.journal.opening import open_sqlite\n"
        "journal = Journal(open_sqlite(Path(sys.argv[1])))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (256 * 1024, 256 * 1024))\n"
        "written = 0\n"
        "try:\n"
        "    while written < 100:\n"
        "        journal.events.note('x' * 20_000)\n"
        "        written += 1\n"
        "except JournalError as error:\n"
        "    print(written, 'cannot be written' in error.what)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=True
    )
    written, _, is_told = output.stdout.strip().partition(" ")
    assert is_told == "True"
    with Journal(open_sqlite(path)) as journal:
        events = journal.events.of()
    assert events[0].what == "before"
    assert len(events) == 1 + int(written)
    assert os.access(path, os.R_OK)


def test_a_journal_that_cannot_be_written_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(open_sqlite(path)) as journal:
        journal.events.note("while it is open", node="n1")
        with Journal(read_sqlite(path)) as reading:
            assert [event.what for event in reading.events.of(node="n1")] == ["while it is open"]
    before = sorted(file.name for file in tmp_path.iterdir())
    with Journal(read_sqlite(path)) as reading:
        assert [event.what for event in reading.events.of(node="n1")] == ["while it is open"]
        with pytest.raises(JournalError, match="cannot be opened for writing"):
            reading.events.note("something")
    assert sorted(file.name for file in tmp_path.iterdir()) == before


def test_where_there_is_no_journal_and_none_can_be_made_an_empty_one_is_read(tmp_path: Path) -> None:
    with Journal(read_sqlite(tmp_path / "journal.sqlite")) as reading:
        assert reading.runs.newest() == ()
    assert list(tmp_path.iterdir()) == []
