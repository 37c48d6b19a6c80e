"""The runner turns the table: durable before and after each act, bounded waits, one node's trouble stays its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.unit.lifecycle.test_table import certificate

from metalwright.errors import (
    BmcNoAnswerError,
    BmcUnreachableError,
    DeployError,
    LockHeldError,
    MetalwrightError,
    SshHostKeyError,
    SshTimeoutError,
    UsageError,
)
from metalwright.lifecycle import CANCELLED, TOO_MANY_FAILED, Act, Done, Failed, Timing, Wait
from metalwright.lifecycle.observations import (
    AcceptObservation,
    AddressObservation,
    BiosObservation,
    CredentialsObservation,
    FirmwareObservation,
    HardenObservation,
    IdentifyObservation,
    ImageObservation,
    MatchObservation,
    Observation,
    OsView,
    ReadyObservation,
    SoftwareObservation,
)
from metalwright.model.finding import MatchResult
from metalwright.model.image import Stamp
from metalwright.model.phase import PHASES, Phase
from metalwright.runner.events import SilentEvents
from metalwright.runner.limits import FailureLimit, MaxFail
from metalwright.runner.local import run_nodes
from metalwright.runner.provisioning import Kind, Request, _run_waves
from metalwright.runner.turn import NodeProgress, NodeTurner, failure_from

EVERY_ACT = ["credentials", "address", "software", "accept", "record"]


@dataclass
class World:
    """A node that becomes right when acted on; ``raises`` makes a phase unreadable, ``breaks`` an act fail."""

    has_password: bool = False
    address: str = "10.0.0.99"
    accepted: bool = False
    recorded: bool = False
    raises: dict[Phase, list[MetalwrightError]] = field(default_factory=dict)
    breaks: set[str] = field(default_factory=set)
    acts: list[str] = field(default_factory=list)
    cleanups: list[str] = field(default_factory=list)
    in_the_way: list[Wait | Failed] = field(default_factory=list)

    def observe(self, phase: Phase, deferred: tuple[str, ...]) -> Observation:
        if self.raises.get(phase):
            raise self.raises[phase].pop(0)
        stamp = Stamp.model_validate(
            {
                "node": "n",
                "run": "r",
                "recipe": "x",
                "image": "sha256:" + "a" * 64,
                "journal": "j",
                "written": "2026-11-01T00:00:00Z",
            }
        )
        seen: dict[Phase, Observation] = {
            Phase.IDENTIFY: IdentifyObservation((), "pinned", {"serial": "A"}),
            Phase.CREDENTIALS: CredentialsObservation("metalwright", self.has_password),
            Phase.MATCH: MatchObservation(MatchResult(node="n", verdict="PASS")),
            Phase.ADDRESS: AddressObservation("10.0.0.2", self.address, self.address == "10.0.0.2"),
            Phase.FIRMWARE: FirmwareObservation(()),
            Phase.BIOS: BiosObservation("lab"),
            Phase.HARDEN: HardenObservation(()),
            Phase.IMAGE: ImageObservation(
                "debian@1", "a" * 64, "j", False, OsView("ours", stamp), "On", False, None, False, False, False, False
            ),
            Phase.SOFTWARE: SoftwareObservation("x", "x"),
            Phase.ACCEPT: AcceptObservation("x", certificate() if self.accepted else None, self.accepted, False),
            Phase.READY: ReadyObservation(deferred, self.recorded),
        }
        return seen[phase]

    def act(self, phase: Phase, act: Act) -> dict[str, Any]:
        self.acts.append(act.name)
        if act.name in self.breaks:
            raise DeployError("it broke", where="n")
        match act.name:
            case "credentials":
                self.has_password = True
            case "address":
                self.address = "10.0.0.2"
            case "accept":
                self.accepted = True
            case "record":
                self.recorded = True
        return {}

    def clear_way(self, act: Act) -> Wait | Failed | None:
        return self.in_the_way.pop(0) if act.name == "address" and self.in_the_way else None

    def close(self) -> None:
        self.cleanups.append("close")

    def cleanup(self, name: str) -> None:
        self.cleanups.append(name)


@dataclass
class Journal:
    """Remembers the order of writes."""

    lines: list[str] = field(default_factory=list)
    refuses: dict[str, Failed] = field(default_factory=dict)
    cancelled_after: str | None = None

    def phase_started(self, phase: Phase) -> None:
        self.lines.append(f"start {phase}")

    def refusal(self, phase: Phase, act: Act) -> Failed | None:
        return self.refuses.get(act.name)

    def cancel_asked(self) -> str | None:
        return "ann@desk: wrong rack" if self.cancelled_after in self.lines else None

    def acting(self, phase: Phase, act: Act) -> None:
        self.lines.append(f"acting {act.name}")

    def acted(self, phase: Phase, act: Act, evidence: dict[str, Any]) -> None:
        self.lines.append(f"acted {act.name}")

    def phase_done(self, phase: Phase, done: Done) -> None:
        self.lines.append(f"done {phase}")

    def failed(self, phase: Phase, failure: Failed) -> None:
        self.lines.append(f"failed {phase} {failure.code}")

    def finished(self, phase: Phase) -> None:
        self.lines.append(f"{phase}")


def turner(world: World, journal: Journal) -> NodeTurner:
    return NodeTurner(world, journal, SilentEvents(), Timing(bmc_settle_s=0.5))


def test_a_blank_node_passes_every_phase_in_order_and_acts_only_where_needed() -> None:
    world, journal = World(), Journal()
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    assert done["n"].failure is None
    assert world.acts == ["credentials", "address", "software", "accept", "record"]
    assert [line.split()[1] for line in journal.lines if line.startswith("done")] == [str(phase) for phase in PHASES]
    assert journal.lines[-1] == "ready"


def test_the_intent_is_durable_before_the_act_and_the_result_after_it() -> None:
    world, journal = World(), Journal()
    run_nodes({"n": turner(world, journal)}, parallel=1)
    start = journal.lines.index("acting address")
    assert journal.lines[start + 1] == "acted address"


def test_a_run_stops_after_the_phase_that_was_asked_for() -> None:
    world, journal = World(), Journal()
    made = turner(world, journal)
    run_nodes({"n": NodeTurner(made.handlers, made.record, made.events, made.timing, Phase.BIOS)}, parallel=1)
    assert world.acts == ["credentials", "address"]
    assert journal.lines[-2:] == ["done bios", "bios"]


def test_a_cancelled_run_stops_before_its_next_act_and_says_who_asked() -> None:
    world, journal = World(), Journal(cancelled_after="acted credentials")
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    failure = done["n"].failure
    assert failure is not None
    assert (failure.code, failure.what) == (CANCELLED, "cancelled by ann@desk: wrong rack")
    assert world.acts == ["credentials"]
    assert world.cleanups == []
    assert journal.lines[-1] == "failed address cancelled"


def test_an_act_waits_for_what_must_end_first_and_is_done_after_it() -> None:
    draining = Wait(0.0, "draining", float("inf"), Failed("drain", "never"))
    world, journal = World(in_the_way=[draining, draining]), Journal()
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    assert done["n"].failure is None
    assert world.in_the_way == []
    assert journal.lines.count("acting address") == 1


def test_a_drain_that_fails_stops_the_node_before_the_act() -> None:
    failed = Failed("drain", "the drain hook ended with exit status 3", found="2 jobs left")
    world, journal = World(in_the_way=[failed]), Journal()
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    assert done["n"].failure == failed
    assert "address" not in world.acts
    assert "acting address" not in journal.lines


def test_each_node_is_let_go_when_it_is_finished_while_the_others_go_on() -> None:
    good, bad = World(), World(breaks={"credentials"})
    turners = {"good": turner(good, Journal()), "bad": turner(bad, Journal())}
    acts_when_let_go: dict[str, int] = {}
    run_nodes(turners, parallel=1, let_go=lambda node: acts_when_let_go.update({node: len(good.acts)}))
    assert acts_when_let_go["good"] == 5
    assert acts_when_let_go["bad"] < 5


def test_a_second_invocation_writes_nothing_to_the_bmc() -> None:
    world = World()
    run_nodes({"n": turner(world, Journal())}, parallel=1)
    world.acts.clear()
    run_nodes({"n": turner(world, Journal())}, parallel=1)
    assert world.acts == ["software"]


def test_a_failing_node_stops_with_its_reason_while_the_other_goes_on() -> None:
    good, bad = World(), World(breaks={"address"})
    journals = {"good": Journal(), "bad": Journal()}
    done = run_nodes({"good": turner(good, journals["good"]), "bad": turner(bad, journals["bad"])}, parallel=2)
    assert done["good"].failure is None
    assert done["bad"].failure is not None
    assert done["bad"].failure.code == "deploy"
    assert journals["bad"].lines[-1] == "failed address deploy"


def many(count: int, broken: int, allowed: str | None) -> tuple[dict[str, NodeTurner], dict[str, World]]:
    limit = FailureLimit(count, MaxFail.of_text(allowed) if allowed is not None else None)
    worlds = {f"n{number}": World() for number in range(count)}
    for name in list(worlds)[:broken]:
        worlds[name].raises[Phase.IDENTIFY] = [BmcUnreachableError("refused", where=name)]
    turners = {name: replace(turner(world, Journal()), limit=limit) for name, world in worlds.items()}
    return turners, worlds


@pytest.mark.parametrize(
    ("allowed", "is_stopped"), [("20%", True), ("2", True), ("3", False), ("30%", False), (None, False)]
)
def test_py_04_the_wave_after_too_many_failures_is_not_begun(allowed: str | None, is_stopped: bool) -> None:
    """`provision --wave 5 --max-fail 20%`: three of ten fail in the first phase; the second wave is not looked at."""
    turners, worlds = many(10, 3, allowed)
    done = _run_waves(turners, 5, 5, lambda _node: None)
    second = [f"n{number}" for number in range(5, 10)]
    failures = [done[name].failure for name in second]
    assert [worlds[name].acts for name in second] == [[] if is_stopped else EVERY_ACT] * 5
    if is_stopped:
        assert {failure.code for failure in failures if failure is not None} == {TOO_MANY_FAILED}
        assert "not begun: 3 of 10 nodes failed, --max-fail allows" in str(failures[0])
    else:
        assert failures == [None] * 5


def test_py_04_a_node_under_way_stops_before_its_next_act_whatever_the_phase_of_the_others() -> None:
    """The failures of all phases count together, and a node that stops because of others does not count."""
    turners, worlds = many(4, 0, "1")
    worlds["n0"].breaks, worlds["n1"].breaks = {"credentials"}, {"address"}
    done = run_nodes(turners, parallel=1)
    codes = {name: progress.failure.code for name, progress in done.items() if progress.failure is not None}
    assert codes == {"n0": "deploy", "n1": "deploy", "n2": TOO_MANY_FAILED, "n3": TOO_MANY_FAILED}
    assert all(0 < len(worlds[name].acts) < len(EVERY_ACT) for name in ("n2", "n3"))
    assert worlds["n2"].cleanups == []


@pytest.mark.parametrize("text", ["", "-1", "1.5", "101%", "20 percent", "%"])
def test_a_limit_that_is_no_number_of_nodes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no number of nodes"):
        MaxFail.of_text(text)


def test_an_act_that_the_history_forbids_is_not_done_and_says_how_to_allow_it() -> None:
    refusal = Failed("repeated-failure", "not acting again", hint="metalwright provision n --retry")
    world, journal = World(), Journal(refuses={"address": refusal})
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    assert done["n"].failure == refusal
    assert world.acts == ["credentials"]
    assert "acting address" not in journal.lines


def test_a_bmc_that_is_silent_after_an_act_is_given_time() -> None:
    gone = BmcUnreachableError("no answer", where="GET https://10.0.0.2/redfish/v1")
    world = World(raises={Phase.ADDRESS: []})
    journal = Journal()
    handlers = turner(world, journal)
    progress = NodeProgress("n")
    while progress.phase is not Phase.ADDRESS or "acted address" not in journal.lines:
        handlers.turn(progress)
    world.raises[Phase.ADDRESS].append(gone)
    assert handlers.turn(progress) > 0
    handlers.turn(progress)
    assert progress.phase.value == "firmware"


def test_a_bmc_that_is_silent_without_reason_fails_the_node_at_once() -> None:
    gone = BmcUnreachableError("no answer", where="GET https://10.0.0.2/redfish/v1", hint="check the cable")
    world, journal = World(raises={Phase.IDENTIFY: [gone]}), Journal()
    done = run_nodes({"n": turner(world, journal)}, parallel=1)
    failure = done["n"].failure
    assert failure is not None
    assert failure.code == "bmc-unreachable"
    assert failure.hint == "check the cable"
    assert world.acts == []


def test_an_unexpected_exception_is_raised_after_the_others_have_finished() -> None:
    class Broken(World):
        def observe(self, phase: Phase, deferred: tuple[str, ...]) -> Observation:
            raise RuntimeError("a fault of ours")

    good = Journal()
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run_nodes({"a": turner(Broken(), Journal()), "b": turner(World(), good)}, parallel=2)
    assert good.lines[-1] == "ready"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BmcUnreachableError("x"), "bmc-unreachable"),
        (SshHostKeyError("x"), "ssh-host-key"),
        (BmcNoAnswerError("x"), "bmc-no-answer"),
        (LockHeldError("x"), "locked"),
        (DeployError("x"), "deploy"),
    ],
)
def test_every_error_has_a_code_that_reads_like_its_name(error: MetalwrightError, code: str) -> None:
    assert failure_from(error).code == code


def test_a_busy_system_is_waited_for_before_it_is_judged() -> None:
    world = World(raises={Phase.ACCEPT: [SshTimeoutError("no answer in 10 s", where="n")]})
    done = run_nodes({"n": turner(world, Journal())}, parallel=1)
    assert done["n"].failure is None
    assert world.acts[-2:] == ["accept", "record"]


def test_a_system_that_stays_silent_fails_with_what_was_seen() -> None:
    silent: list[MetalwrightError] = [SshTimeoutError("no answer in 10 s", where="n") for _ in range(3)]
    world = World(raises={Phase.ACCEPT: silent})
    quick = NodeTurner(world, Journal(), SilentEvents(), Timing(system_answers_s=0.0))
    failure = run_nodes({"n": quick}, parallel=1)["n"].failure
    assert failure is not None
    assert failure.code == "ssh-timeout"


@pytest.mark.parametrize(
    ("kind", "typed", "command"),
    [
        ("rebuild", ("rebuild", "n1", "--image", "a b@1"), "metalwright rebuild n1 --image 'a b@1'"),
        ("rebuild", ("resume", "--yes"), "metalwright rebuild n1"),
        ("provision", (), "metalwright provision n1"),
        ("rebuild", ("rollback", "run-7"), "metalwright rollback run-7"),
    ],
)
def test_a_hint_is_a_command_that_can_be_pasted(kind: Kind, typed: tuple[str, ...], command: str) -> None:
    stopped = Failed("os-answers", "it answers", hint="`COMMAND --overwrite NODE`; see NODES")
    told = stopped.addressed("n1", Request(("n1",), kind, arguments=typed).command("n1"))
    assert told.hint == f"`{command} --overwrite n1`; see NODES"
    assert replace(stopped, hint=None).addressed("n1", "x").hint is None
