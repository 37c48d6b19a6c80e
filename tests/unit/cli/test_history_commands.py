"""``journal``, ``status`` and ``credentials`` as a person runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests import desired

from metalwright.cli.app import run
from metalwright.errors import BmcRefusedError
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.addresses import KnownGood
from metalwright.model.phase import NodeState, Phase

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    racks = tmp_path / "inventory" / "racks"
    racks.mkdir(parents=True)
    (tmp_path / "inventory" / "site.yaml").write_text(json.dumps(desired.site().to_json()))
    nodes = [
        desired.node(unit=1).to_json(),
        desired.node(name="lab-2", unit=2, serial="MW-2", uuid="8f5a2a3e-0000-4000-8000-000000000002").to_json(),
    ]
    rack = {"schema": 1, "name": "rack-1", "site": "lab", "nodes": nodes}
    (racks / "rack-1.yaml").write_text(json.dumps(rack))
    return tmp_path


@pytest.fixture
def journal(site: Path) -> Iterator[Journal]:
    with Journal(open_sqlite(site / ".metalwright" / "journal.sqlite", lambda: NOW)) as journal:
        yield journal


@pytest.fixture
def failed_run(journal: Journal) -> str:
    run = journal.runs.start("provision", ["lab-1"], commit="c0ffee", is_dirty=True)
    journal.runs.start_node(run.id, "lab-1", blueprint="lab-vm@1.0.0", recipe="sha256:r")
    journal.runs.finish_phase(journal.runs.begin_phase(run.id, "lab-1", Phase.MATCH), "ok")
    error = BmcRefusedError("attribute is read-only", where="PATCH https://b/x", hint="remove it from the blueprint")
    journal.events.act("reset", node="lab-1", run=run.id, why="bios attributes", plan="sha256:p")
    journal.runs.finish_phase(journal.runs.begin_phase(run.id, "lab-1", Phase.BIOS), "failed", error=error)
    journal.runs.set_node(run.id, "lab-1", "failed", error.what)
    journal.nodes.set_state("lab-1", NodeState.FAILED, error.what, run.id)
    journal.runs.finish(run.id, "failed")
    return run.id


def test_status_says_which_node_is_still_drained(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.nodes.set_state("lab-1", NodeState.READY, "accepted")
    journal.events.act("drain", node="lab-1", why="rebuild")
    assert "it is still drained: `metalwright provision lab-1` gives it back" in told(capsys, site, "status", "lab-1")
    journal.events.note("undrained", node="lab-1")
    assert "drained" not in told(capsys, site, "status", "lab-1")


def told(capsys: pytest.CaptureFixture[str], site: Path, *arguments: str) -> str:
    capsys.readouterr()
    assert run(["--site", str(site), *arguments]) == 0
    return capsys.readouterr().out


def read_json(capsys: pytest.CaptureFixture[str], site: Path, *arguments: str) -> Any:
    return json.loads(told(capsys, site, *arguments, "--json"))


def test_a_node_that_nobody_knows_has_no_empty_history(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(site), "journal", "lab-9"]) == 64
    assert "no such node in the inventory or the journal" in capsys.readouterr().err
    assert "time" in told(capsys, site, "journal", "lab-1")


def test_resume_with_nothing_to_do_prints_json_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["init", str(tmp_path / "site")]) == 0
    assert read_json(capsys, tmp_path / "site", "resume") == {"schema": 1, "nodes": []}


def test_a_node_that_git_has_forgotten_keeps_its_history(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.events.note("undrained", node="lab-8")
    assert "undrained" in told(capsys, site, "journal", "lab-8")


def test_a_fresh_site_has_planned_nodes(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, site, "status").splitlines()
    assert [line.split()[:2] for line in lines] == [["node", "state"], ["lab-1", "planned"], ["lab-2", "planned"]]
    assert lines[1].endswith("next: `metalwright discover`")
    assert told(capsys, site, "journal").split() == ["run", "kind", "started", "by", "result", "nodes"]


def test_a_failed_node_says_why_and_what_to_do(site: Path, failed_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = told(capsys, site, "status", "lab-1").splitlines()[1]
    assert line.split()[:5] == ["lab-1", "failed", "bios", "2026-11-30", "12:00:00Z"]
    assert line.endswith(
        "attribute is read-only; next: remove it from the blueprint; then `metalwright provision lab-1`"
    )
    (node,) = read_json(capsys, site, "status", "lab-1")["nodes"]
    assert (node["state"], node["phase"], node["phase_result"], node["run"]) == ("failed", "bios", "failed", failed_run)


def test_a_node_that_is_worked_on_says_who_does(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.nodes.set_state("lab-1", NodeState.PROVISIONING, "run r1", "r1")
    lease = journal.leases.take("lab-1", "r1")
    (node,) = read_json(capsys, site, "status", "lab-1")["nodes"]
    assert node["worker"] == f"{lease.by} pid {lease.pid}, run r1"
    assert node["next"] is None
    journal.leases.release(lease)
    (node,) = read_json(capsys, site, "status", "lab-1")["nodes"]
    assert (node["worker"], node["next"]) == (None, "not finished: `metalwright provision lab-1` goes on")


def test_a_ready_node_shows_its_known_good_tuple(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    known = KnownGood(
        node="lab-1",
        blueprint="lab-vm@1.0.0",
        recipe="sha256:r",
        image="debian@12",
        image_sha256="1a" * 32,
        firmware={},
        certificate="sha256:c",
        ssh_host_key="ssh-ed25519 AAAA",
    )
    journal.nodes.set_known_good(known)
    journal.nodes.set_state("lab-1", NodeState.READY, "accepted")
    assert "lab-vm@1.0.0 debian@12  accepted" in told(capsys, site, "status", "lab-1")


def test_an_unknown_node_is_wrong_usage(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(site), "status", "lab-9"]) == 64
    assert "hint: known nodes: lab-1, lab-2" in capsys.readouterr().err


def test_a_broken_rack_file_does_not_hide_the_status(
    site: Path, failed_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (site / "inventory" / "racks" / "rack-1.yaml").write_text("nodes: [")
    assert run(["--site", str(site), "status"]) == 0
    captured = capsys.readouterr()
    assert "lab-1  failed" in captured.out
    assert "`metalwright check` says which" in captured.err


def test_the_runs_are_listed(site: Path, failed_run: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = told(capsys, site, "journal").splitlines()[1]
    assert line.startswith(f"{failed_run}  provision  2026-11-30 12:00:00Z")
    assert line.endswith("failed  lab-1: failed")
    (told_run,) = read_json(capsys, site, "journal")["runs"]
    assert (told_run["id"], told_run["nodes"][0]["recipe"]) == (failed_run, "sha256:r")


@pytest.mark.parametrize("selection", [["lab-1"], ["--run"], ["lab-1", "--run"]])
def test_a_story_has_every_phase_and_event(
    site: Path, failed_run: str, capsys: pytest.CaptureFixture[str], selection: list[str]
) -> None:
    arguments = [*selection, failed_run] if "--run" in selection else selection
    text = " ".join(told(capsys, site, "journal", *arguments).split())
    assert "lab-1 match ok in 0.0 s" in text
    assert "failed in 0.0 s: attribute is read-only" in text
    assert "bios attributes (by " in text
    assert "plan sha256:p)" in text
    assert ("commit c0ffee with changes" in text) == ("--run" in selection)
    story = read_json(capsys, site, "journal", *arguments)
    assert [phase["phase"] for phase in story["phases"]] == ["match", "bios"]
    assert story["phases"][1]["error"]["hint"] == "remove it from the blueprint"


def test_an_unknown_run_is_an_error(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--site", str(site), "journal", "--run", "none"]) == 1
    assert "error: none: no such run" in capsys.readouterr().err


def test_a_damaged_journal_is_an_error_and_stays(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = site / ".metalwright" / "journal.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"")
    assert run(["--site", str(site), "status"]) == 1
    assert "the journal is empty" in capsys.readouterr().err
    assert path.read_bytes() == b""


def test_a_bmcs_words_cannot_drive_the_terminal(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.events.note("answer", node="lab-1", why="line one\nline two \x1b[2J")
    lines = told(capsys, site, "journal", "lab-1").splitlines()
    assert len(lines) == 2
    assert "\x1b" not in lines[1]


def test_refused_logins_are_forgotten_on_somebodys_word(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.bmc_addresses.record("lab-1", "127.77.0.101", 8443, NOW)
    journal.refused_logins.latch("lab-1", "c1", "401 at login")
    journal.refused_logins.latch("127.77.0.101:8443", "c1", "401 at login")
    journal.refused_logins.latch("lab-2", "c1", "401 at login")
    assert run(["--site", str(site), "credentials", "clear", "lab-1", "--why", "password reset"]) == 0
    assert capsys.readouterr().err == "lab-1: 2 refused logins forgotten\n"
    assert not journal.refused_logins.is_latched("127.77.0.101:8443", "c1")
    assert journal.refused_logins.is_latched("lab-2", "c1")
    assert [event.why for event in journal.events.of(node="lab-1")] == ["password reset"]
    assert run(["--site", str(site), "credentials", "clear", "lab-1"]) == 0
    assert capsys.readouterr().err == "lab-1: no login was refused\n"


def test_notes_about_secrets_reach_stderr_without_the_secret(site: Path) -> None:
    code = (
        "import sys, logging; from metalwright.cli import app; from metalwright.secrets.value import Secret\n"
        "app._log_to_stderr(); logging.getLogger('x').warning('login with %s', Secret('hunter2-cli').reveal())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "WARNING: login with ***\n"
