"""Power of the host on BMCs that misbehave: judged by the resets that the BMC saw, and by where the power really is."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.operations.redfish.bench import Bench
from tests.operations.redfish.in_process import Outcome

from metalwright.cli.app import run
from metalwright.deploys.power import power as power_deploy
from metalwright.operations.redfish import power

ON: dict[str, Any] = {"wanted": "On"}
OFF: dict[str, Any] = {"wanted": "Off"}
URI = "/redfish/v1/Systems/1"
LOGS = f"{URI}/LogServices"
SYSTEM = "Systems/1$"
RESET = {"method": "POST", "path": "Reset$"}
NO_STATE = {"at": "/PowerState", "drop": True}


def shown(state: str) -> dict[str, Any]:
    """The edit that makes the BMC show another power state."""
    return {"at": "/PowerState", "set": state}


def offer(bench: Bench, *types: str) -> None:
    """Let the BMC offer these reset types, and take no others."""
    place = "/Actions/#ComputerSystem.Reset/ResetType@Redfish.AllowableValues"
    bench.rule("GET", SYSTEM, edit=[{"at": place, "set": list(types)}])
    other = f'"(?!({"|".join(types)})")[A-Za-z]+"}}'
    bench.rule("POST", "Reset$", when={"body": other}, status=400, message="Base.1.8.ActionParameterNotSupported")


def resets(bench: Bench) -> list[str]:
    """The reset types that the BMC was asked for since ``forget``."""
    return [record.body["ResetType"] for record in bench.seen("POST", "ComputerSystem.Reset")]


def turn_on(bench: Bench) -> None:
    """Power the host on, and forget that it was asked for."""
    assert bench.run(power.state, **ON).is_ok
    bench.forget()


def succeeded(done: Outcome) -> bool:
    """Whether the run changed something and did not fail."""
    return done.is_ok and bool(done.changed)


def test_pw_01_a_state_that_is_there_already_is_a_success(bench: Bench) -> None:
    """Reads the power state first; where a reset is refused it reads again, and the wanted state is a success."""
    assert bench.run(power.state, **OFF).changed == []
    assert resets(bench) == []

    bench.rule("GET", SYSTEM, when={"before": RESET}, edit=[shown("On")])  # somebody else is quicker
    bench.rule("POST", "Reset$", status=409, message="Base.1.8.ResourceInStandby")
    assert succeeded(bench.run(power.state, **OFF))
    assert bench.writes() == [("POST ComputerSystem.Reset", 409)]


def test_pw_02_a_restart_without_a_restart_type_takes_the_power_away_and_gives_it_back(bench: Bench) -> None:
    """Chooses from the reset types that the BMC lists; a hard one is used only where the caller allows it."""
    turn_on(bench)
    offer(bench, "On", "ForceOff", "PushPowerButton", "Nmi")
    assert succeeded(bench.run(power.reset))
    assert resets(bench) == ["ForceOff", "On"]

    bench.behave()
    bench.forget()
    offer(bench, "On", "ForceOff")
    refused = bench.run(power.state, wanted="Off", grace_s=1, then="fail")
    assert not refused.is_ok
    assert "offers no graceful shutdown, only On, ForceOff" in refused.text
    assert resets(bench) == []


def test_pw_02_allowed_values_are_found_in_the_action_info_as_well(bench: Bench) -> None:
    """Chooses from the reset types that the BMC lists; a hard one is used only where the caller allows it."""
    turn_on(bench)
    action = {
        "target": f"/redfish/v1/{SYSTEM[:-1]}/Actions/ComputerSystem.Reset",
        "@Redfish.ActionInfo": "/redfish/v1/Info",
    }
    bench.rule("GET", SYSTEM, edit=[{"at": "/Actions/#ComputerSystem.Reset", "set": action}])
    offered = {"Parameters": [{"Name": "ResetType", "AllowableValues": ["On", "ForceOff"]}]}
    bench.rule("GET", "v1/Info$", status=200, body=offered)
    assert succeeded(bench.run(power.reset))
    assert resets(bench) == ["ForceOff", "On"]


def test_pw_04_a_state_on_its_way_is_waited_for(bench: Bench) -> None:
    """Waits while the BMC shows PoweringOff or PoweringOn, and goes on only at Off or On."""
    turn_on(bench)
    bench.rule("GET", SYSTEM, times=3, when={"after": RESET}, edit=[shown("PoweringOff")])
    assert succeeded(bench.run(power.state, **OFF))
    assert resets(bench) == ["ForceOff"]
    assert [record.method for record in bench.seen(path_end="Systems/1")][-4:] == ["GET"] * 4

    bench.rule("GET", SYSTEM, times=3, edit=[shown("PoweringOff")])
    assert bench.run(power.state, **OFF).is_ok
    assert resets(bench) == ["ForceOff"]


@pytest.mark.parametrize("then", ["force", "fail"])
def test_pw_05_a_shutdown_that_is_ignored_ends_after_its_time(bench: Bench, then: str) -> None:
    """Gives the operating system its time, then takes the power away or fails, as the caller said."""
    turn_on(bench)
    bench.rule("POST", "Reset$", when={"body": "GracefulShutdown"}, status=204)
    done = bench.run(power_deploy, data={"power": "Off", "shutdown": {"grace_s": 1, "then": then}})
    assert done.is_ok is (then == "force")
    if then == "force":
        assert resets(bench) == ["GracefulShutdown", "ForceOff"]
        assert bench.system.power_state == "Off"
    else:
        assert resets(bench) == ["GracefulShutdown"]
        assert bench.system.power_state == "On"
        assert "had no effect within 1 s" in done.text


def test_pw_06_a_slow_power_on_is_asked_for_once(bench: Bench) -> None:
    """Waits as long as the platform needs (``power_settle_s``), sends one request and says how long it took."""
    bench.rule("GET", SYSTEM, times=5, when={"after": RESET}, edit=[shown("Off")])
    done = bench.run(power.state, data={"power_settle_s": 10}, **ON)
    assert succeeded(done)
    assert resets(bench) == ["On"]
    assert re.search(r"shows the wanted values after \d+\.\d s", done.text)


def test_pw_07_a_power_on_without_effect_is_tried_once_more(bench: Bench) -> None:
    """Sends a power-on that had no effect a second time, then fails: accepted, but no effect."""
    bench.system.faults.set("reset-ignored", times=1)
    assert succeeded(bench.run(power.state, data={"power_settle_s": 1}, **ON))
    assert resets(bench) == ["On", "On"]
    assert bench.system.power_state == "On"


def test_pw_07_a_power_on_that_never_has_an_effect_fails_after_two_requests(bench: Bench) -> None:
    """Sends a power-on that had no effect a second time, then fails: accepted, but no effect."""
    bench.system.faults.set("reset-ignored")
    done = bench.run(power.state, data={"power_settle_s": 1}, **ON)
    assert not done.is_ok
    assert "the BMC accepted the request 2 times, but it had no effect within 1 s" in done.text
    assert resets(bench) == ["On", "On"]


def test_pw_08_a_system_that_says_nothing_after_a_reset_is_not_off(bench: Bench) -> None:
    """Goes on reading while the system fails or is empty; a missing power state is never taken for off."""
    turn_on(bench)
    answers: list[dict[str, Any]] = [{"status": 500}, {"status": 200, "body": {}}, {"edit": [NO_STATE]}]
    for number, answer in enumerate(answers):
        bench.rule("GET", SYSTEM, skip=number, times=1, when={"after": RESET}, **answer)
    assert succeeded(bench.run(power.reset))
    assert resets(bench) == ["ForceRestart"]

    bench.behave()
    bench.rule("GET", SYSTEM, times=3, edit=[NO_STATE])
    assert bench.run(power.state, **ON).is_ok
    assert resets(bench) == ["ForceRestart"]


def test_pw_09_a_reset_that_is_accepted_and_not_done_fails(bench: Bench) -> None:
    """Proves a reset by LastResetTime, and names lockdown as a likely reason where nothing happened."""
    turn_on(bench)
    bench.system.faults.set("reset-ignored")
    done = bench.run(power.reset, data={"power_settle_s": 1})
    assert not done.is_ok
    assert "had no effect within 1 s" in done.text
    assert "LastResetTime changed" in done.text
    assert "lockdown" in done.text
    assert bench.system.state.power_ons == 1


def test_pw_10_what_a_maker_adds_is_never_read(bench: Bench) -> None:
    """Reads only what the standard has, by its links; a platform whose hosts restart at that is read no more."""
    trap = f"{URI}/Oem/V/BiosBackup"
    oem = {"V": {"@odata.id": f"{URI}/Oem/V", "BiosBackup": {"@odata.id": trap}, "PostState": "FinishedPost"}}
    bench.rule("GET", SYSTEM, edit=[{"at": "/Oem", "set": oem}])
    turn_on(bench)
    for _ in range(3):
        assert bench.run(power.state, **ON).is_ok
    assert succeeded(bench.run(power.reset))
    assert [record for record in bench.seen() if "/Oem/" in record.path] == []
    assert bench.evidence()["system"]["post"] == {"PostState": "FinishedPost"}
    assert bench.evidence()["log"]


def test_pw_10_three_plans_change_nothing_and_read_nothing_that_a_maker_adds(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reads only what the standard has, by its links; a platform whose hosts restart at that is read no more."""
    oem = {"V": {"@odata.id": f"{URI}/Oem/V", "BiosBackup": {"@odata.id": f"{URI}/Oem/V/BiosBackup"}}}
    bench.rule("GET", SYSTEM, edit=[{"at": "/Oem", "set": oem}])
    turn_on(bench)
    resets_before, power_ons = bench.system.state.last_reset_at, bench.system.state.power_ons
    monkeypatch.chdir(bench.site.root)
    for name, value in bench.site.environment.items():
        monkeypatch.setenv(name, value)
    for _ in range(3):
        assert run(["plan", bench.node, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["nodes"][0]["node"] == bench.node
    assert bench.seen("GET", "/Bios")
    assert bench.writes() == []
    assert [record for record in bench.seen() if "/Oem/" in record.path] == []
    assert (bench.system.state.last_reset_at, bench.system.state.power_ons) == (resets_before, power_ons)


def test_pw_10_a_host_that_restarts_while_it_is_read_is_noticed_once(bench: Bench) -> None:
    """Reads only what the standard has, by its links; a platform whose hosts restart at that is read no more."""
    turn_on(bench)
    moved = [{"at": "/LastResetTime", "set": "2026-01-01T00:00:00Z"}]
    bench.rule("GET", SYSTEM, times=2, when={"after": {"method": "GET", "path": "Log/Entries$"}}, edit=moved)
    assert bench.run(power.reset).is_ok
    problems = bench.evidence()["problems"]
    assert "the host was reset while this was read; one of these did it" in problems[-1]
    assert "/Log/Entries" in problems[-1]
    bench.forget()
    assert bench.run(power.reset).is_ok
    assert bench.seen("GET", "Entries") == []
    assert "sensors and logs are not read" in bench.evidence()["problems"][0]


def test_what_the_diff_shows_is_what_is_sent(bench: Bench) -> None:
    turn_on(bench)
    shutdown: dict[str, Any] = {"wanted": "Off", "grace_s": 1, "then": "force"}
    assert bench.preview(power.state, **shutdown) == ["power: On → Off (GracefulShutdown, 1 s, then ForceOff)"]
    assert resets(bench) == []
    bench.rule("POST", "Reset$", when={"body": "GracefulShutdown"}, status=204)
    assert succeeded(bench.run(power.state, **shutdown))
    assert resets(bench) == ["GracefulShutdown", "ForceOff"]
    assert bench.preview(power.state, **ON) == ["power: Off → On (On)"]
    assert bench.preview(power.state, **OFF) == []


def test_the_tail_of_the_console_is_kept_without_the_secrets_in_it(bench: Bench) -> None:
    lines = [f"[{number:4}.000000] line {number}" for number in range(300)]
    turn_on(bench)
    lines += ["init=/bin/sh db_password=hunter22", "panic: \x1b[1m"]
    bench.system.machine.console_path.write_text("\n".join(lines))
    assert succeeded(bench.run(power.reset))
    console = bench.evidence()["console"]
    assert console["uri"] == f"{LOGS}/Console/Entries"
    assert console["lines"][-3:] == ["[ 299.000000] line 299", "init=/bin/sh db_password=***", "panic:  [1m"]


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ({"path": f"{LOGS}$", "edit": [{"at": "/Members", "set": []}]}, "this BMC keeps no log of the serial console"),
        ({"path": "Console/Entries", "status": 500}, f"{LOGS}/Console/Entries"),
    ],
)
def test_a_console_that_cannot_be_read_is_told_and_stops_nothing(bench: Bench, edit: dict[str, Any], told: str) -> None:
    turn_on(bench)
    bench.rule("GET", **edit)
    assert succeeded(bench.run(power.reset))
    evidence = bench.evidence()
    assert evidence["console"] is None
    assert told in next(problem for problem in evidence["problems"] if problem.startswith("console:"))
