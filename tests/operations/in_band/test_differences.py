"""What ``--diff`` says and what a preview is told: each value as it is and as it would be, before the first command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.state import StateStage
from pyinfra.context import ctx_host
from tests.operations.in_band.stand_in import StandInHost
from tests.operations.in_band.test_apt import PIN, installed
from tests.operations.in_band.test_services_and_people import logins, state

from metalwright.model.drift import DIFFERENCES_VARIABLE
from metalwright.operations.access import people
from metalwright.operations.apt import pinned
from metalwright.operations.files import rendered
from metalwright.operations.nftables import loaded
from metalwright.operations.systemd import running

EXPORTER = {"name": "prometheus-node-exporter", "version": "1.5.0", "unit": "x"}
FILE = {"path": "/etc/a", "text": "a\n", "mode": "644"}
RIGHT = {"mode": "644", "user": "root", "group": "root", "sha256": hashlib.sha256(b"a\n").hexdigest()}


def told(
    operation: Callable[..., Any],
    facts: dict[str, Any],
    file: Path,
    *,
    stage: StateStage = StateStage.Prepare,
    **arguments: Any,
) -> list[str]:
    """What one operation writes to the file of differences when pyinfra takes its first command."""
    host = StandInHost(facts)
    host.state.config.DIFF, host.state.current_stage = True, stage
    with ctx_host.use(host):
        next(iter(operation._inner(**arguments)), None)  # type: ignore[attr-defined]  # pyinfra sets it
    entries = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    assert {entry["operation"] for entry in entries} <= {"Operation"}
    return [line for entry in entries for line in entry["lines"]]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(DIFFERENCES_VARIABLE, str(tmp_path / "told"))
    return tmp_path / "told"


def test_packages_by_version_and_hold(file: Path) -> None:
    before = {**installed("1.6.20~ds1-1+deb12u3", is_held=False), "chrony": {"version": "4.3", "is_held": False}}
    facts = {"InstalledVersions": before, "PackageCandidates": {}}
    assert told(pinned, facts, file, pins=[PIN, EXPORTER], present=["chrony", "nftables"]) == [
        "package nftables: absent → installed",
        "package containerd: not on hold → on hold",
        "package prometheus-node-exporter: absent → 1.5.0",
    ]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "absent"),
        (RIGHT | {"sha256": "0" * 64}, "other text"),
        (RIGHT | {"mode": "666", "user": "amina"}, "mode 666, owner amina:root"),
    ],
)
def test_files_by_what_is_wrong_with_them(file: Path, found: dict[str, str] | None, words: str) -> None:
    facts = {"FileStates": {"/etc/a": found} if found else {}, "FileContents": ["b"]}
    assert told(rendered, facts, file, files=[FILE]) == [f"file /etc/a: {words} → as rendered"]


def test_people_services_and_rules(file: Path) -> None:
    found = {"LoginNames": logins({"root": 0, "gone": 1001}, keys=("bo",), made={"gone": 1001}, sessions=(1001,))}
    assert told(people, found, file, names=["amina"]) == [
        "account amina: absent → there",
        "SSH keys of bo: there → absent",
        "account gone: may log in, is logged in → locked, ended, sessions closed",
    ]
    file.unlink()
    units = {"a.service": state(fault="inactive/dead, result success"), "b.service": state(is_enabled=False)}
    assert told(running, {"ServiceStates": units}, file, units=[*units, "c.service"]) == [
        "service a.service: inactive/dead, result success → running, starts at boot",
        "service b.service: does not start at boot → running, starts at boot",
        "service c.service: absent → running, starts at boot",
    ]
    file.unlink()
    firewall = {"Firewall": {"policy": None, "is_as_written": False}}
    assert told(loaded, firewall, file, path="/etc/nftables.conf", policy="drop") == [
        "packets that no rule names: no rules are loaded → drop"
    ]


def test_what_is_right_says_nothing_and_a_run_says_it_once(file: Path) -> None:
    assert told(rendered, {"FileStates": {"/etc/a": RIGHT}}, file, files=[FILE]) == []
    facts: dict[str, Any] = {"FileStates": {}}
    assert told(rendered, facts, file, stage=StateStage.Execute, files=[FILE]) == []
