"""What a platform taught is there for the next process, also in a journal of an earlier version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite


def test_the_forms_of_a_platform_are_kept_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(open_sqlite(path)) as journal:
        journal.platform_forms.keep("dell idrac", ["boot-mode", "media+MediaType"])
        journal.platform_forms.keep("hpe ilo", ["boot+mode"])
        journal.platform_forms.keep("dell idrac", ["media+MediaType", "boot+mode"])
    with Journal(open_sqlite(path)) as journal:
        assert journal.platform_forms.recall("dell idrac") == ("media+MediaType", "boot+mode")
        assert journal.platform_forms.recall("hpe ilo") == ("boot+mode",)
        assert journal.platform_forms.recall("another") == ()
        journal.platform_forms.keep("hpe ilo", [])
        assert journal.platform_forms.recall("hpe ilo") == ()


def test_a_journal_of_an_earlier_version_gets_the_tables_that_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(open_sqlite(path)) as journal:
        identity = journal.id
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("drop table platform_forms")
        connection.execute("drop table medium_reads")
        connection.commit()
    with Journal(open_sqlite(path)) as journal:
        assert journal.id == identity
        journal.platform_forms.keep("dell idrac", ["boot-mode"])
        assert journal.deployments.medium_read("d-1") is None
