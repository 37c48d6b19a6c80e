"""``status --watch``: lines where there is no terminal, a table where there is one, and Ctrl-C is no failure."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.cli.test_status_times import make_site, record

from metalwright.cli.app import run
from metalwright.cli.watch import look
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import NodeState, Phase


@pytest.fixture
def site(tmp_path: Path) -> Path:
    make_site(tmp_path, "")
    record(tmp_path, (Phase.IDENTIFY, 0.2), (Phase.IMAGE, 140.0))
    return tmp_path


def command(site: Path) -> list[str]:
    return [sys.executable, "-m", "metalwright.cli", "--site", str(site), "status", "n1", "--watch", "--every", "0.2"]


def opened(site: Path) -> Journal:
    return Journal(open_sqlite(site / ".metalwright" / "journal.sqlite"))


def test_a_line_for_each_change_where_there_is_no_terminal(site: Path) -> None:
    with (
        opened(site) as journal,
        subprocess.Popen(command(site), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        journal.nodes.set_state("n1", NodeState.QUARANTINED, "tampered with")
        second = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=20)
    assert "n1  planned  -" in first
    assert "n1  quarantined  -" in second
    assert "tampered with" in second
    assert (process.returncode, rest, said) == (0, "", "")


def test_a_live_table_in_a_terminal(site: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command(site), stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(theirs)
        shown = ""
        deadline = time.monotonic() + 20
        while shown.count("Ctrl-C ends it") < 2 and time.monotonic() < deadline:
            shown += os.read(ours, 65536).decode(errors="replace")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    os.close(ours)
    assert "usually" in shown
    assert "Traceback" not in shown


def test_the_phase_under_way_is_shown_with_what_it_usually_takes(site: Path) -> None:
    with opened(site) as journal:
        usual = journal.runs.usual_seconds()
        assert usual == {Phase.IMAGE: pytest.approx(5069.5)}
        run = journal.runs.start("rebuild", ["n1"]).id
        journal.leases.take("n1", run)
        begun = journal.runs.begin_phase(run, "n1", Phase.IMAGE)
        now = look(journal, ("n1", "provisioning", "told"), usual, begun.started + timedelta(seconds=42))
        assert now.cells == ("n1", "provisioning", "image", "42 s", "84 min", f"run {run}")
        journal.runs.finish_phase(begun, "ok")
        assert look(journal, ("n1", "ready", "told"), usual, datetime.now(UTC)).cells[2:] == ("-", "-", "-", "told")


def test_a_pace_without_a_watch_is_refused(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(site), "status", "--every", "5"]) == 64
    assert "--every belongs to --watch" in capsys.readouterr().err
