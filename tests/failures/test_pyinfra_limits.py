"""A limit for failed nodes, over the real command line and simulated BMCs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.failures.bios_fleet import Case, Fleet, fleet_of

from metalwright.cli.app import run

NODES = ("one", "two", "three")
UNREACHABLE = NODES[:2]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """Three nodes; at the address of two of them nothing answers."""
    with fleet_of(tmp_path / "site", dict.fromkeys(NODES, Case({"SysProfile": "Performance"})), "127.83.19") as made:
        for name, value in made.site.environment.items():
            monkeypatch.setenv(name, value)
        rack = made.site.root / "inventory/racks/rack-1.yaml"
        text = rack.read_text()
        for name in UNREACHABLE:
            before, found, after = text.partition(f"- name: {name}\n")
            own = made.site.machines[name].url.rpartition(":")[2]
            text = before + found + after.replace(f"bmc_port: {own}", "bmc_port: 9", 1)
        rack.write_text(text)
        yield made


def provisioned(fleet: Fleet, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["--site", str(fleet.site.root), "provision", *arguments, "--until", "credentials", "--yes", "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return code, {node["node"]: node for node in json.loads(said.out)["nodes"]}


def test_py_04_after_too_many_failed_nodes_the_next_wave_is_not_begun(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    """`provision --wave N --max-fail M%` counts failures of every phase and begins no further wave."""
    code, nodes = provisioned(fleet, capsys, "--rack", "rack-1", "--wave", "2", "--max-fail", "20%")
    codes = {name: (node["failure"] or {}).get("code") for name, node in nodes.items()}
    assert code == 1
    assert {codes[name] for name in UNREACHABLE} == {"bmc-unreachable"}
    assert codes["three"] == "too-many-failed"
    assert "not begun: 2 of 3 nodes failed, --max-fail allows 20%" in nodes["three"]["failure"]["what"]
    assert fleet.site.writes("three") == []
    with fleet.site.workspace().journal as journal:
        states = {item.node: item.state for item in journal.runs.nodes_of(nodes["three"]["run"])}
        assert (states["one"], states["three"]) == ("failed", "skipped")
        assert journal.nodes.get("three") is None
