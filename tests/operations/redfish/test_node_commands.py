"""``power``, ``sel`` and ``console`` for people: the real command line on a simulated BMC."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.bench import Bench, bench_in

from metalwright.cli import console as console_module
from metalwright.cli.app import run
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_sqlite
from metalwright.model.phase import NodeState
from metalwright.operations.redfish import power
from metalwright.redfish.consoles import console_ways

NODE = "lab-1"


@dataclass
class Cli:
    """Runs ``metalwright`` in this process on the bench's site."""

    bench: Bench
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        code = run(["--site", str(self.bench.site.root), *arguments])
        told = self.capsys.readouterr()
        return code, told.out, told.err

    def journal(self) -> Journal:
        """The journal of the site."""
        return Journal(open_sqlite(self.bench.site.root / ".metalwright" / "journal.sqlite"))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One node for all tests of this file."""
    with bench_in(tmp_path_factory.mktemp("people") / "site", 200) as bench:
        yield bench


@pytest.fixture
def cli(shared: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    for name, value in shared.site.environment.items():
        monkeypatch.setenv(name, value)
    shared.forget()
    yield Cli(shared, capsys)
    shared.behave()


def resets(bench: Bench) -> list[str]:
    return [record.body["ResetType"] for record in bench.seen("POST", "ComputerSystem.Reset")]


def test_power_is_shown_and_changed_and_the_audit_log_tells_who_and_why(cli: Cli) -> None:
    assert cli("power", NODE)[1] == "lab-1: power is Off\n"
    code, out, _ = cli("power", NODE, "on", "--why", "ticket 7")
    assert (code, out.startswith("lab-1: power is On, last reset")) == (0, True)
    assert resets(cli.bench) == ["On"]

    code, out, _ = cli("power", NODE, "restart", "--yes", "--json")
    assert code == 0
    assert json.loads(out)["power"] == "On"
    assert resets(cli.bench) == ["On", "GracefulShutdown", "On"]

    with cli.journal() as journal:
        acts = [event for event in journal.events.of(node=NODE) if event.is_act]
        kept = [event for event in journal.events.of(node=NODE) if event.what == "evidence kept"]
    assert [(event.what, event.why) for event in acts] == [
        ("power on", "ticket 7"),
        ("power restart", "no reason given"),
    ]
    assert all(event.who and event.run for event in acts)
    evidence = json.loads((cli.bench.site.root / (kept[-1].detail or {})["file"]).read_text())
    assert evidence["system"]["power"] == "On"
    assert evidence["before"].endswith('{"ResetType": "GracefulShutdown"}')
    assert any(entry["message"].startswith("power is on") for entry in evidence["log"])


def test_a_system_that_does_not_stop_is_left_running_unless_force_is_given(cli: Cli) -> None:
    assert cli("power", NODE, "on")[0] == 0
    cli.bench.forget()
    cli.bench.rule("POST", "Reset$", when={"body": "GracefulShutdown"}, status=204)
    code, _, err = cli("power", NODE, "off", "--grace", "1", "--yes")
    assert code == 1
    assert "had no effect within 1 s" in err
    assert resets(cli.bench) == ["GracefulShutdown"]
    assert cli("power", NODE, "off", "--grace", "1", "--force", "--yes")[0] == 0
    assert resets(cli.bench) == ["GracefulShutdown", "GracefulShutdown", "ForceOff"]


def test_where_a_workload_may_run_somebody_must_confirm(cli: Cli) -> None:
    with cli.journal() as journal:
        journal.nodes.set_state(NODE, NodeState.READY, "accepted")
    code, _, err = cli("power", NODE, "cycle")
    assert code == 64
    assert "this may stop a workload" in err
    assert resets(cli.bench) == []


def test_logs_that_cannot_be_read_are_not_logs_that_are_not_there(cli: Cli) -> None:
    cli.bench.rule("GET", "/(Systems|Managers|Chassis)/?$", status=403)
    code, out, err = cli("sel", NODE)
    assert (code, out) == (1, "")
    assert "no event log could be read" in err
    assert "HTTP 403" in err


def test_the_event_log_is_shown_newest_last_and_cleared_after_it_was_kept(cli: Cli) -> None:
    assert cli.bench.run(power.state, wanted="Off").is_ok
    assert cli.bench.run(power.state, wanted="On").is_ok
    _, out, _ = cli("sel", NODE, "--json", "-n", "5")
    entries = json.loads(out)["entries"]
    assert len(entries) == 5
    assert [entry["at"] for entry in entries] == sorted(entry["at"] for entry in entries)
    assert {entry["log"] for entry in entries} == {"Log"}

    assert cli("sel", NODE, "--clear")[0] == 64
    code, out, _ = cli("sel", NODE, "--clear", "--yes", "--why", "moved to ticket 8")
    assert code == 0
    assert "the log was cleared" in out
    assert "power is on" not in out
    kept = sorted((cli.bench.site.root / ".metalwright" / "evidence").rglob("*.json"))[-1]
    assert "power is on" in kept.read_text()


def test_the_ways_to_the_console_are_printed_to_be_pasted(cli: Cli) -> None:
    ssh = {"ServiceEnabled": True, "Port": 2200, "ConsoleEntryCommand": "console", "HotKeySequenceDisplay": "ESC ("}
    ipmi = {"ServiceEnabled": True}
    edit = [{"at": "/SerialConsole", "set": {"SSH": ssh, "IPMI": ipmi}}]
    cli.bench.rule("GET", "Systems/1$", edit=edit)
    code, out, err = cli("console", NODE)
    host = cli.bench.service.spec.bmc.address
    assert code == 0
    assert out == f"ssh -t -p 2200 admin@{host}\nipmitool -I lanplus -H {host} -U admin -a sol activate\n"
    assert "then type: console" in err

    cli.bench.behave()
    code, _, err = cli("console", NODE)
    assert code == 1
    assert "this BMC tells no way to the serial console" in err


def test_a_manager_that_lists_only_connect_types_is_understood() -> None:
    manager = {
        "SerialConsole": {"ServiceEnabled": True, "ConnectTypesSupported": ["IPMI", "Telnet"]},
        "CommandShell": {"ServiceEnabled": True, "ConnectTypesSupported": ["SSH"]},
    }
    ways = console_ways({}, manager, "10.0.0.1", "root")
    assert [way.command for way in ways] == [
        "ssh -t root@10.0.0.1",
        "ipmitool -I lanplus -H 10.0.0.1 -U root -a sol activate",
        "telnet 10.0.0.1 23",
    ]


def test_only_a_shell_is_called_one() -> None:
    shell = {"CommandShell": {"ServiceEnabled": True, "ConnectTypesSupported": ["SSH", "IPMI"]}}
    notes = {way.kind: way.note for way in console_ways({}, shell, "10.0.0.1", "root")}
    assert ("own shell" in notes["SSH"], notes["IPMI"]) == (True, "")


def test_a_login_in_the_place_of_a_node_is_not_repeated(cli: Cli) -> None:
    code, out, err = cli("power", "https://admin:hunter2@127.0.0.1")
    assert code == 64
    assert "hunter2" not in out + err


def test_a_growing_console_log_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_module, "POLL_S", 0.01)
    log = tmp_path / "console.log"
    log.write_text("one\ntwo\nthr")
    lines: Any = console_module._lines(log, 1, follow=True)
    assert next(lines) == "two"

    def write() -> None:
        time.sleep(0.05)
        with log.open("a") as file:
            file.write("ee\x1b\nfour\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert [next(lines), next(lines)] == ["three", "four"]
    writer.join()
