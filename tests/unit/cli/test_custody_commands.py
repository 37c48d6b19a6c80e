"""``cancel``, ``takeover``, ``quarantine`` and ``release`` as a person runs them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import desired

from metalwright.cli.app import run
from metalwright.journal.holding import hold_node
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import NodeState
from metalwright.runner.custody import cancel_asked


@pytest.fixture
def site(tmp_path: Path) -> Path:
    racks = tmp_path / "inventory" / "racks"
    racks.mkdir(parents=True)
    (tmp_path / "inventory" / "site.yaml").write_text(json.dumps(desired.site().to_json()))
    rack = {"schema": 1, "name": "rack-1", "site": "lab", "nodes": [desired.node(unit=1).to_json()]}
    (racks / "rack-1.yaml").write_text(json.dumps(rack))
    return tmp_path


@pytest.fixture
def journal(site: Path) -> Iterator[Journal]:
    with Journal(open_sqlite(site / ".metalwright" / "journal.sqlite")) as journal:
        yield journal


@pytest.fixture
def killed_run(journal: Journal) -> str:
    """A run that never ended."""
    run = journal.runs.start("provision", ["lab-1"]).id
    journal.runs.start_node(run, "lab-1", blueprint="lab-vm@1.0.0", recipe="sha256:r")
    journal.nodes.set_state("lab-1", NodeState.PROVISIONING, "image", run)
    return run


def typed(capsys: pytest.CaptureFixture[str], site: Path, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = run(["--site", str(site), *arguments])
    return code, capsys.readouterr().err


def acts(journal: Journal) -> list[tuple[str, str | None]]:
    return [(event.what, event.why) for event in journal.events.of(node="lab-1") if event.is_act]


def state(journal: Journal) -> NodeState:
    status = journal.nodes.get("lab-1")
    assert status is not None
    return status.state


def test_a_quarantined_node_is_left_alone_until_it_is_released(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(capsys, site, "quarantine", "lab-1", "--why", "ECC errors")[0] == 0
    assert state(journal) is NodeState.QUARANTINED
    code, told = typed(capsys, site, "release", "lab-1", "--why", "DIMM replaced")
    assert (code, state(journal)) == (0, NodeState.CLAIMED)
    assert "no longer quarantined" in told
    assert acts(journal) == [("quarantine", "ECC errors"), ("release", "DIMM replaced")]
    code, told = typed(capsys, site, "release", "lab-1", "--why", "again")
    assert code == 1
    assert "expected: a held or quarantined node" in told


def test_a_ready_node_that_was_quarantined_and_not_touched_is_ready_again(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.nodes.set_state("lab-1", NodeState.READY, "accepted")
    for round_ in ("false alarm", "another one"):
        assert typed(capsys, site, "quarantine", "lab-1", "--why", round_)[0] == 0
        assert typed(capsys, site, "quarantine", "lab-1", "--why", "said twice")[0] == 0
        code, told = typed(capsys, site, "release", "lab-1", "--why", round_)
        assert (code, state(journal)) == (0, NodeState.READY), told
        assert "ready as it was before" in told


def test_a_held_node_is_not_ready_by_its_release(
    site: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    journal.nodes.set_state("lab-1", NodeState.READY, "accepted")
    assert typed(capsys, site, "quarantine", "lab-1", "--why", "x")[0] == 0
    assert typed(capsys, site, "release", "lab-1", "--why", "x")[0] == 0
    journal.nodes.set_state("lab-1", NodeState.HELD, "rebuilt to an older image")
    assert typed(capsys, site, "release", "lab-1", "--why", "go on")[0] == 0
    assert state(journal) is NodeState.CLAIMED


def test_a_node_that_is_worked_on_is_not_set_aside(
    site: Path, journal: Journal, killed_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold_node(journal, site / ".metalwright", "lab-1", killed_run):
        holder = subprocess.run(
            [sys.executable, "-m", "metalwright.cli", "--site", str(site), "quarantine", "lab-1", "--why", "x"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert holder.returncode == 1
    assert killed_run in holder.stderr
    assert state(journal) is NodeState.PROVISIONING


def test_cancel_closes_a_run_that_died_so_that_resume_leaves_it_alone(
    site: Path, journal: Journal, killed_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = typed(capsys, site, "cancel", "lab-1", "--why", "wrong rack")
    assert (code, "is closed" in told) == (0, True)
    assert journal.runs.get(killed_run).result == "cancelled"
    assert [item.state for item in journal.runs.nodes_of(killed_run)] == ["cancelled"]
    assert state(journal) is NodeState.FAILED
    code, told = typed(capsys, site, "cancel", "lab-1", "--why", "wrong rack")
    assert code == 1
    assert f"run {killed_run}: cancelled" in told


def test_cancel_asks_a_run_that_lives_and_leaves_its_records_to_it(
    site: Path, journal: Journal, killed_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold_node(journal, site / ".metalwright", "lab-1", killed_run):
        code, told = typed(capsys, site, "cancel", "lab-1", "--why", "wrong rack")
    assert (code, killed_run in told) == (0, True)
    asked = cancel_asked(journal, "lab-1", killed_run)
    assert asked is not None
    assert asked.endswith(": wrong rack")
    assert journal.runs.get(killed_run).result is None


def test_takeover_frees_a_node_that_a_dead_machine_holds(
    site: Path, journal: Journal, killed_run: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("metalwright.journal.leases.host_name", lambda: "burnt-desk")
        lease = journal.leases.take("lab-1", killed_run)
    assert lease.host == "burnt-desk" != socket.gethostname()
    code, told = typed(capsys, site, "quarantine", "lab-1", "--why", "x")
    assert (code, "metalwright takeover lab-1" in told) == (1, True)
    code, told = typed(capsys, site, "takeover", "lab-1", "--why", "the desk burnt down")
    assert (code, killed_run in told) == (0, True)
    now = journal.leases.get("lab-1")
    assert now is not None
    assert (now.epoch, now.released is not None) == (lease.epoch + 1, True)
    assert ("takeover", "the desk burnt down") in acts(journal)
    assert "no run holds it" in typed(capsys, site, "takeover", "lab-1", "--why", "again")[1]


@pytest.mark.parametrize("command", ["cancel", "takeover", "quarantine", "release"])
def test_every_command_wants_a_known_node_and_a_reason(
    site: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = typed(capsys, site, command, "lab-9", "--why", "x")
    assert (code, "known nodes: lab-1" in told) == (64, True)
    assert typed(capsys, site, command, "lab-1")[0] == 64
