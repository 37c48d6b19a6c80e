"""The other rows of the state table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from metalwright.lifecycle import Act, Decision, Done, Effect, Failed, History, Timing, Wait, decide
from metalwright.lifecycle.observations import (
    AcceptObservation,
    AddressObservation,
    AttributeChange,
    BiosObservation,
    CredentialsObservation,
    Deviation,
    FirmwareObservation,
    HardenObservation,
    IdentifyObservation,
    MatchObservation,
    ReadyObservation,
    RestartView,
    SoftwareObservation,
    VersionCheck,
)
from metalwright.model.certificate import Certificate, TestResult
from metalwright.model.finding import Finding, MatchResult

TIMING = Timing(bmc_settle_s=60, attempts=2)
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def certificate(verdict: str = "PASS") -> Certificate:
    return Certificate.model_validate(
        {
            "node": "n1",
            "verdict": verdict,
            "serials": {},
            "recipe": "sha256:r",
            "image": "debian@1",
            "tests": [TestResult(name="disk-read", verdict="FAIL", why="40 < 100 MB/s")] if verdict != "PASS" else [],
            "issued": NOW,
            "expires": NOW + timedelta(days=90),
        }
    )


def test_a_contradicted_identity_stops_and_says_what_was_seen() -> None:
    finding = Finding(code="identity", verdict="FAIL", slot="serial", expected="A1", found="B2")
    decision = decide(IdentifyObservation((finding,), "pinned", {"serial": "B2"}), History(), TIMING)
    assert isinstance(decision, Failed)
    assert (decision.expected, decision.found) == ("serial A1", "serial B2")


def test_an_unknown_identity_key_is_deferred_and_not_passed_over() -> None:
    finding = Finding(code="identity", verdict="DEFERRED", slot="uuid", expected="u")
    decision = decide(IdentifyObservation((finding,), "first-use", {"serial": "A1"}), History(), TIMING)
    assert isinstance(decision, Done)
    assert decision.deferred == ("identity uuid",)


def test_a_bmc_that_shows_no_declared_key_is_refused() -> None:
    finding = Finding(code="identity", verdict="DEFERRED", slot="uuid", expected="u")
    assert isinstance(decide(IdentifyObservation((finding,), "pinned", {}), History(), TIMING), Failed)


def test_credentials_are_made_once_and_a_write_that_does_not_take_is_an_error() -> None:
    view = CredentialsObservation("metalwright", own_login_works=False)
    assert decide(view, History(), TIMING) == Act("credentials", "give the BMC its own password", Effect.WRITE)
    assert isinstance(decide(view, History({"credentials": 1}), TIMING), Failed)
    assert isinstance(decide(CredentialsObservation("metalwright", True), History(), TIMING), Done)


def test_hardware_that_contradicts_stops_and_unknown_is_deferred() -> None:
    wrong = Finding(code="dimm-count", verdict="FAIL", slot="memory", expected="32", found="31", hint="reseat")
    unknown = Finding(code="gpu-count", verdict="DEFERRED")
    failed = decide(MatchObservation(MatchResult(node="n", verdict="FAIL", findings=(wrong,))), History(), TIMING)
    assert isinstance(failed, Failed)
    assert failed.hint == "reseat"
    done = decide(MatchObservation(MatchResult(node="n", verdict="DEFERRED", findings=(unknown,))), History(), TIMING)
    assert isinstance(done, Done)
    assert done.deferred == ("gpu-count",)


def test_the_bmc_is_moved_once_and_then_awaited_at_its_new_address() -> None:
    view = AddressObservation("10.0.0.2", "10.0.0.99", answers_at_allocated=False)
    assert isinstance(decide(view, History(), TIMING), Act)
    assert isinstance(decide(view, History({"address": 1}, 5), TIMING), Wait)
    assert isinstance(decide(AddressObservation("10.0.0.2", "10.0.0.2", True), History(), TIMING), Done)


def test_what_only_a_person_can_tell_stops_early_and_says_what_to_write_down() -> None:
    unknown = Finding(code="unknown-psus", verdict="DEFERRED", expected="6", found="unknown", hint="count them")
    seen = MatchObservation(MatchResult(node="n1", verdict="DEFERRED", findings=(unknown,)))
    decision = decide(seen, History(), TIMING)
    assert isinstance(decision, Failed)
    assert (decision.code, decision.hint) == ("match", "count them")


def test_firmware_that_is_too_old_fails_and_an_unknown_version_is_deferred_not_passed() -> None:
    old = VersionCheck("bmc", ">=1.4", "1.0", holds=False)
    unknown = VersionCheck("gpu", ">=96", None, holds=None)
    assert isinstance(decide(FirmwareObservation((old, unknown)), History(), TIMING), Failed)
    done = decide(FirmwareObservation((unknown,)), History(), TIMING)
    assert isinstance(done, Done)
    assert done.deferred == ("firmware gpu",)


def test_bios_attributes_are_written_awaited_and_given_up_after_the_allowed_attempts() -> None:
    view = BiosObservation("lab/1", to_write=(AttributeChange("SrIov", "Disabled", "Enabled"),))
    assert decide(view, History(), TIMING) == Act("bios", "write SrIov", Effect.RESET)
    written = replace(view, awaited=("SrIov",), fruitless=1, messages=("PropertyUnknown SrIov",))
    assert isinstance(decide(written, History({"bios": 1}, 5), TIMING), Wait)
    assert isinstance(decide(written, History({"bios": 1}, 61), TIMING), Act)
    given_up = decide(replace(written, fruitless=2), History({"bios": 2}, 61), TIMING)
    assert isinstance(given_up, Failed)
    assert given_up.found == "SrIov=Disabled (the BMC says: PropertyUnknown SrIov)"
    assert isinstance(decide(BiosObservation("lab/1"), History(), TIMING), Done)


def test_the_next_stage_of_bios_attributes_follows_at_once_and_never_without_end() -> None:
    view = BiosObservation("lab/1", to_write=(AttributeChange("Second", "1", "2"),))
    assert isinstance(decide(view, History({"bios": 1}, 0), TIMING), Act)
    assert isinstance(decide(view, History({"bios": 8}, 0), TIMING), Failed)


def test_somebody_elses_job_on_the_bmc_is_waited_for_and_then_named() -> None:
    view = BiosObservation("lab/1", to_write=(AttributeChange("A", "1", "2"),), blocked="the BMC works on job JID_1")
    waiting = decide(view, History(), TIMING)
    assert isinstance(waiting, Wait)
    assert (waiting.when_over.code, "JID_1" in waiting.when_over.what) == ("bios-blocked", True)
    first = replace(view, blocked=None, goes_first="a Secure Boot change waits")
    assert decide(first, History(), TIMING) == Act("bios", "restart, because a Secure Boot change waits", Effect.RESET)


def test_a_critical_attribute_that_changed_undeclared_stops_the_node() -> None:
    stopped = decide(BiosObservation("lab/1", drift=("BootMode: Uefi → LegacyBios",)), History({"bios": 1}), TIMING)
    assert isinstance(stopped, Failed)
    assert (stopped.code, stopped.found) == ("bios-drift", "BootMode: Uefi → LegacyBios")


def test_a_bios_refusal_is_never_written() -> None:
    view = BiosObservation("lab/1", refusals=("Foo: unknown",), to_write=(AttributeChange("A", "1", "2"),))
    assert isinstance(decide(view, History(), TIMING), Failed)


def test_hardening_that_does_not_take_is_an_error() -> None:
    view = HardenObservation((Deviation("IPMI", "on", "off"),))
    assert isinstance(decide(view, History(), TIMING), Act)
    assert isinstance(decide(view, History({"harden": 1}), TIMING), Failed)


def test_software_runs_in_every_invocation_because_only_the_machine_knows() -> None:
    view = SoftwareObservation("sha256:r", "sha256:r")
    assert isinstance(decide(view, History(), TIMING), Act)
    assert isinstance(decide(view, History({"software": 1}), TIMING), Done)


def software(view: RestartView, **acts: int) -> Decision:
    return decide(SoftwareObservation("sha256:r", None, view), History(acts), TIMING)


def test_a_system_that_waits_for_a_restart_gets_one_and_then_the_recipe_again() -> None:
    waits, is_up = RestartView(("the driver",)), RestartView((), is_new_boot=True)
    first = software(waits, software=1)
    assert isinstance(first, Act)
    assert (first.name, first.effect, first.why) == ("restart", Effect.RESET, "restart the system: the driver")
    assert isinstance(software(waits, software=1, restart=1), Wait)
    assert isinstance(software(RestartView(None), software=1, restart=1), Wait)
    again = software(is_up, software=1, restart=1)
    assert isinstance(again, Act)
    assert again.name == "software"
    assert software(is_up, software=2, restart=1) == Done({"restarted": True})


def test_a_system_that_asks_for_a_second_restart_is_left_alone() -> None:
    for applied in (1, 2):
        stopped = software(RestartView(("the driver",), is_new_boot=True), software=applied, restart=1)
        assert isinstance(stopped, Failed)
        assert (stopped.code, stopped.found) == ("restart-again", "the driver")


def test_a_system_that_does_not_restart_or_come_back_fails_after_its_time() -> None:
    same, gone = (
        software(RestartView(("x",)), software=1, restart=1),
        software(RestartView(None), software=1, restart=1),
    )
    assert isinstance(same, Wait)
    assert isinstance(gone, Wait)
    assert [wait.when_over.code for wait in (same, gone)] == ["not-restarted", "os-silent"]
    assert same.limit_s == gone.limit_s == TIMING.os_boot_s


@pytest.mark.parametrize("changed", [False, True])
def test_acceptance_is_repeated_when_software_changed(changed: bool) -> None:
    view = AcceptObservation("sha256:r", certificate(), is_valid=True, software_changed=changed)
    assert isinstance(decide(view, History(), TIMING), Act if changed else Done)
    assert isinstance(decide(view, History({"accept": 1}), TIMING), Done)


def test_a_certificate_that_is_not_pass_names_the_failing_test() -> None:
    view = AcceptObservation("sha256:r", certificate("FAIL"), is_valid=False, software_changed=False)
    decision = decide(view, History({"accept": 1}), TIMING)
    assert isinstance(decision, Failed)
    assert "40 < 100 MB/s" in (decision.found or "")


def test_a_node_with_unsettled_facts_never_becomes_ready() -> None:
    assert isinstance(decide(ReadyObservation(("gpu-count",), is_recorded=False), History(), TIMING), Failed)
    assert isinstance(decide(ReadyObservation((), is_recorded=False), History(), TIMING), Act)
    assert isinstance(decide(ReadyObservation((), is_recorded=True), History(), TIMING), Done)


def test_bios_does_not_reset_a_machine_whose_operating_system_is_not_ours() -> None:
    wanted = (AttributeChange("A", "x", "y"),)
    refused = decide(BiosObservation("lab", to_write=wanted, stranger="SSH-2.0-other"), History(), Timing())
    assert isinstance(refused, Failed)
    assert (refused.code, refused.found) == ("os-answers", "SSH-2.0-other")
    assert decide(BiosObservation("lab", stranger="SSH-2.0-other"), History(), Timing()) == Done({"registry": "lab"})
