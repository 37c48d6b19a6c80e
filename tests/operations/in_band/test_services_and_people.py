"""Services stay up, people get in, and the right system is asked for first."""

from __future__ import annotations

from typing import Any

import pytest
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.errors import DeployError
from metalwright.facts.answers import NO_ANSWER
from metalwright.facts.logins import LoginNames, Logins
from metalwright.facts.systemd import UnitState
from metalwright.operations import systemd
from metalwright.operations.access import people
from metalwright.operations.preflight import deployed_node
from metalwright.operations.systemd import running

UNIT = "a.service"


def state(**changes: Any) -> UnitState:
    well: UnitState = {
        "fault": None, "is_starting": False, "is_finished": False, "is_masked": False, "is_enabled": True,
        "restarts": 0, "active_s": 60.0,
    }  # fmt: skip
    return well | changes  # type: ignore[return-value]  # a TypedDict with other values


def run_units(before: dict[str, UnitState]) -> tuple[list[Any], list[str]]:
    return commands_of(running, {"ServiceStates": before}, units=[UNIT])


@pytest.fixture
def _no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd, "POLL_S", 0.0)


def wait(states: list[UnitState], limit_s: float = 60.0) -> None:
    """Let the waiting command of a stopped unit see one state after the other (the last one for ever)."""
    (_, waiting), _ = run_units({UNIT: state(fault="inactive/dead, result success")})
    assert waiting.args[1] == [UNIT]
    waiting.args[3] = limit_s
    seen = iter(states)
    last = states[-1]
    run_function(waiting, {"ServiceStates": lambda units: {UNIT: next(seen, last)}})


def test_a_unit_that_is_well_needs_nothing() -> None:
    assert run_units({UNIT: state()}) == ([], ["all units are well"])


@pytest.mark.parametrize("before", [state(is_enabled=False), state(fault="failed/failed, result exit-code")])
def test_a_unit_that_is_down_or_not_enabled_is_started(before: UnitState) -> None:
    commands, _ = run_units({UNIT: before})
    assert commands[0] == "systemctl enable --now a.service"
    assert len(commands) == 2


def test_an_unknown_unit_is_started_so_that_systemd_says_why_not() -> None:
    assert run_units({})[0][0] == "systemctl enable --now a.service"


def test_a_unit_that_has_just_started_is_only_waited_for() -> None:
    commands, _ = run_units({UNIT: state(active_s=0.5)})
    assert len(commands) == 1
    run_function(commands[0], {"ServiceStates": {UNIT: state()}})


@pytest.mark.usefixtures("_no_sleep")
def test_a_unit_that_dies_after_its_start_fails_the_host() -> None:
    with pytest.raises(DeployError) as caught:
        wait([state(active_s=0.5), state(fault="failed/failed, result exit-code", active_s=0.0)])
    assert caught.value.what == "a.service does not run"
    assert caught.value.found == "failed/failed, result exit-code"


@pytest.mark.usefixtures("_no_sleep")
def test_a_unit_that_restarts_again_and_again_fails_the_host() -> None:
    with pytest.raises(DeployError, match="does not run"):
        wait([state(active_s=1.0), state(active_s=0.2, restarts=1)])


@pytest.mark.usefixtures("_no_sleep")
def test_a_unit_that_starts_for_ever_fails_at_the_limit() -> None:
    with pytest.raises(DeployError, match="does not run"):
        wait([state(fault="activating/start, result success", is_starting=True, active_s=0.0)], limit_s=0.0)


def test_a_oneshot_unit_that_is_over_has_nothing_to_stay_up_for() -> None:
    assert run_units({UNIT: state(is_finished=True, active_s=0.0)}) == ([], ["all units are well"])


@pytest.mark.usefixtures("_no_sleep")
def test_a_unit_that_takes_its_time_is_waited_for() -> None:
    starting = state(fault="activating/start, result success", is_starting=True, active_s=0.0)
    wait([starting, starting, state(active_s=1.0), state(active_s=4.0)])


def logins(accounts: dict[str, int], **changes: Any) -> Logins:
    """What a node says of its people; nothing but accounts where nothing else is said."""
    empty: Logins = {"accounts": accounts, "keys": (), "principals": (), "made": {}, "retired": (), "sessions": ()}
    return empty | changes  # type: ignore[return-value]  # a TypedDict with other values


def test_missing_people_get_an_account_and_strangers_lose_their_keys() -> None:
    facts: dict[str, Any] = {"LoginNames": logins({"root": 0, "amina": 1000}, keys=("metalwright", "amina", "gone"))}
    commands, _ = commands_of(people, facts, names=["amina", "bo"], keep=["metalwright"])
    assert commands == [
        "useradd --create-home --no-user-group --shell /bin/bash bo && install -d -m 755 /var/lib/metalwright &&"
        ' echo bo "$(id -u bo)" >> /var/lib/metalwright/accounts',
        "rm /etc/ssh/authorized_keys.d/gone",
    ]
    _, noops = commands_of(people, facts, names=["amina", "gone"], keep=["metalwright"])
    assert noops == []
    facts = {"LoginNames": logins({"amina": 1000}, keys=("amina",))}
    assert commands_of(people, facts, names=["amina"])[0] == []


def test_keys_and_principals_go_where_only_the_other_is_declared() -> None:
    facts: dict[str, Any] = {"LoginNames": logins({"amina": 1000}, keys=("amina",), principals=("amina", "gone"))}
    named = {"names": ["amina"], "keyless": ["amina"], "principals": ["amina"]}
    assert commands_of(people, facts, **named)[0] == [
        "rm /etc/ssh/authorized_keys.d/amina",
        "rm /etc/ssh/authorized_principals.d/gone",
    ]


MADE = {"made": {"gone": 1001}}
THERE = {"root": 0, "amina": 1000, "gone": 1001}


@pytest.mark.parametrize(
    "found",
    [
        logins(THERE),
        logins(THERE, **MADE, retired=("gone",)),
        logins(THERE, made={"gone": 900}),
    ],
    ids=["made by others", "retired already", "of the system"],
)
def test_an_account_that_is_not_ours_to_retire_is_left_alone(found: Logins) -> None:
    assert commands_of(people, {"LoginNames": found}, names=["amina"])[0] == []


@pytest.mark.parametrize("changes", [{}, {"retired": ("gone",), "sessions": (1001,)}], ids=["open", "still logged in"])
def test_an_account_that_we_made_is_retired_and_read_back(changes: dict[str, Any]) -> None:
    found: dict[str, Any] = {"LoginNames": logins(THERE, **MADE, **changes)}
    commands, _ = commands_of(people, found, names=["amina"])
    assert commands[0] == "usermod --lock --expiredate 1 gone"
    with pytest.raises(DeployError, match="the account gone still lets somebody in"):
        run_function(commands[-1], found)
    run_function(commands[-1], {"LoginNames": logins(THERE, **MADE, retired=("gone",))})
    assert commands_of(people, found, names=["amina"], keep=["gone"])[0] == []


def test_a_person_who_is_declared_again_may_come_back() -> None:
    found: dict[str, Any] = {"LoginNames": logins(THERE, **MADE, retired=("gone",))}
    assert commands_of(people, found, names=["amina", "gone"])[0] == ["usermod --expiredate '' gone"]


def test_the_note_of_an_account_counts_only_while_it_is_the_same_account() -> None:
    lines = [
        "account:root:x:0:0::/root:/bin/bash", "account:gone:x:1002:100::/home/gone:/bin/bash",
        "account:amina:x:1000:100::/home/amina:/bin/bash", "made:gone 1001", "made:amina 1000", "made:away 1003",
        "end:root:*:", "end:gone:!:1", "end:amina:$:1", "session:1000", "keys:amina",
    ]  # fmt: skip
    found = LoginNames().process(lines)
    assert (found["made"], found["retired"], found["sessions"]) == ({"amina": 1000}, ("gone",), (1000,))


def test_the_name_of_a_system_account_is_refused_before_anything_is_changed() -> None:
    facts = {"LoginNames": logins({"backup": 34}, keys=("gone",))}
    (command,), _ = commands_of(people, facts, names=["amina", "backup"])
    with pytest.raises(DeployError, match="the name backup is taken") as caught:
        run_function(command, {})
    assert caught.value.found == "user id 34"


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ({"uid": 1000, "stamp": {"node": "lab-1"}}, "commands do not run as root"),
        ({"uid": 0, "stamp": None}, "this is not the system that was deployed as this node"),
        ({"uid": 0, "stamp": {"node": "lab-2"}}, "a stamp of lab-2"),
    ],
)
def test_another_system_is_refused_before_anything_is_changed(system: dict[str, Any], message: str) -> None:
    (command,), _ = commands_of(deployed_node, {"RootAccess": None, "System": system}, node="lab-1")
    with pytest.raises(DeployError, match=message):
        run_function(command, {})


def test_a_refused_sudo_fails_the_host_in_its_own_words() -> None:
    (command,), _ = commands_of(deployed_node, {"RootAccess": "sudo: a password is required"}, node="lab-1")
    with pytest.raises(DeployError, match="commands do not run as root") as caught:
        run_function(command, {})
    assert caught.value.found == "sudo: a password is required"


def test_a_fact_without_an_answer_fails_the_host() -> None:
    (command,), _ = commands_of(running, {"ServiceStates": NO_ANSWER}, units=[UNIT])
    with pytest.raises(DeployError, match="ServiceStates gave no answer"):
        run_function(command, {})


def test_the_right_system_is_let_through() -> None:
    system = {"uid": 0, "stamp": {"node": "lab-1"}}
    assert commands_of(deployed_node, {"RootAccess": None, "System": system}, node="lab-1")[0] == []


def test_a_system_without_apt_is_refused_before_anything_is_asked() -> None:
    (command,), _ = commands_of(deployed_node, {}, node="lab-1", image_os="rocky-9")
    with pytest.raises(DeployError, match="the software phase cannot be applied to rocky-9"):
        run_function(command, {})
