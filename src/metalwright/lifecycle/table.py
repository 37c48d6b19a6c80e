"""The state table: for each phase, observation × history → decision. Pure; the runner turns it."""

from __future__ import annotations

from metalwright.lifecycle.bios import decide_bios
from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.image import decide_image
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
    ReadyObservation,
    SoftwareObservation,
    UndrainView,
)
from metalwright.lifecycle.software import decide_software
from metalwright.lifecycle.timing import Timing
from metalwright.matching.witnesses import PERSON, witness_of

__all__ = ["Timing", "decide"]


def decide(observation: Observation, history: History, timing: Timing) -> Decision:
    """The one entry: what to do about what was seen.

    Raises:
        TypeError: an observation of no known phase.
    """
    match observation:
        case IdentifyObservation():
            return _identify(observation)
        case CredentialsObservation():
            return _credentials(observation, history)
        case MatchObservation():
            return _match(observation)
        case AddressObservation():
            return _address(observation, history, timing)
        case FirmwareObservation():
            return _firmware(observation, history, timing)
        case BiosObservation():
            return decide_bios(observation, history, timing)
        case HardenObservation():
            return _harden(observation, history)
        case ImageObservation():
            return decide_image(observation, history, timing)
        case SoftwareObservation():
            return decide_software(observation, history, timing)
        case AcceptObservation():
            return _accept(observation, history)
        case ReadyObservation():
            return _ready(observation, history)
    raise TypeError(f"no row of the state table for {type(observation).__name__}")


def _identify(seen: IdentifyObservation) -> Decision:
    contradictions = [finding for finding in seen.findings if finding.verdict == "FAIL"]
    if contradictions:
        first = contradictions[0]
        return Failed(
            code="identity",
            what=f"this is not the declared machine: {first.slot or first.code} differs",
            expected="; ".join(f"{item.slot or item.code} {item.expected}" for item in contradictions),
            found="; ".join(f"{item.slot or item.code} {item.found}" for item in contradictions),
            hint=first.hint or "compare the sticker with the rack file; nothing was written",
        )
    unknown = [finding for finding in seen.findings if finding.verdict == "DEFERRED"]
    if len(unknown) == len(seen.findings) > 0 and not seen.serials:
        return Failed(code="identity", what="the BMC shows none of the declared identity keys", hint="check the BMC")
    return Done(
        {"pin": seen.pin, **{key: value for key, value in seen.serials.items() if value}},
        deferred=tuple(f"identity {finding.slot or finding.code}" for finding in unknown),
    )


def _credentials(seen: CredentialsObservation, history: History) -> Decision:
    if not seen.changes():
        return Done({"account": seen.user})
    act = Act("credentials", seen.changes()[0].what, Effect.WRITE)
    return _act_once(history, act, "the BMC keeps its old password")


def _match(seen: MatchObservation) -> Decision:
    contradictions = [item for item in seen.result.findings if item.verdict == "FAIL"]
    if contradictions:
        return Failed(
            code="match",
            what=f"the hardware contradicts the blueprint in {len(contradictions)} place(s)",
            expected="; ".join(f"{item.slot or item.code}: {item.expected}" for item in contradictions),
            found="; ".join(f"{item.slot or item.code}: {item.found}" for item in contradictions),
            hint=contradictions[0].hint or f"see `metalwright match {seen.result.node}`",
        )
    for_people = [item for item in seen.result.findings if witness_of(item.code) is PERSON]
    if for_people:
        return Failed(
            code="match",
            what="neither the BMC nor an operating system can tell this; a person must look into the machine",
            expected="; ".join(f"{item.code}: {item.expected}" for item in for_people),
            found="; ".join(f"{item.code}: {item.found}" for item in for_people),
            hint=for_people[0].hint or f"see `metalwright match {seen.result.node}`",
        )
    deferred = tuple(f"{item.code} {item.slot or ''}".strip() for item in seen.result.findings)
    return Done({"verdict": seen.result.verdict}, deferred=deferred)


def _address(seen: AddressObservation, history: History, timing: Timing) -> Decision:
    if seen.answers_at_allocated:
        return Done({"address": seen.allocated})
    if not history.count("address"):
        return Act("address", f"move the BMC from {seen.current} to {seen.allocated}", Effect.WRITE)
    lost = Failed(
        code="address",
        what="the BMC does not answer at its allocated address",
        expected=seen.allocated,
        found=f"last seen at {seen.current}",
        hint="check VLAN and prefix of the management port; `metalwright discover` finds it again",
    )
    return Wait(2.0, f"BMC moves to {seen.allocated}", timing.bmc_settle_s, lost)


def _firmware(seen: FirmwareObservation, history: History, timing: Timing) -> Decision:
    wrong = [check for check in seen.checks if check.holds is False]
    stopped = Failed(
        code="firmware",
        what="a firmware update failed" if seen.move == "fail" else f"{len(wrong)} firmware version(s) do not fit",
        expected="; ".join(f"{check.name} {check.constraint}" for check in wrong) or None,
        found="; ".join(f"{check.name} {check.found}" for check in wrong) or None,
        hint=seen.text or "approve an image for it in firmware/, or update it with the maker's tool",
    )
    match seen.move:
        case "fail" | "refuse":
            return stopped
        case "wait":
            return Wait(5.0, seen.text, timing.firmware_s, stopped)
        case "push" | "reset" if seen.stranger is not None and any(step.is_disruptive for step in seen.steps):
            return Failed(
                code="os-answers",
                what="new firmware needs a restart, which would stop an operating system that is not ours",
                expected="a silent node, or one with a host key that we know",
                found=seen.stranger,
                hint="if it really must go: `COMMAND --overwrite NODE`",
            )
        case "push" | "reset":
            return Act("firmware", seen.text, Effect.RESET)
    if wrong:
        return stopped
    unknown = [check for check in seen.checks if check.holds is None]
    if unknown and history.count("firmware") and history.since_last_s < timing.bmc_settle_s:
        names = ", ".join(check.name for check in unknown)
        return Wait(5.0, f"the BMC does not show the version of {names} yet", timing.bmc_settle_s, stopped)
    evidence = {check.name: check.found for check in seen.checks}
    return Done(evidence, deferred=tuple(f"firmware {check.name}" for check in unknown))


def _harden(seen: HardenObservation, history: History) -> Decision:
    if not seen.deviations:
        return Done({})
    if history.count("harden") and not any(item.is_required for item in seen.deviations):
        return Done({"not taken by this BMC": ", ".join(item.what for item in seen.deviations)})
    names = ", ".join(item.what for item in seen.deviations)
    return _act_once(history, Act("harden", names, Effect.WRITE), f"still not as wanted: {names}")


def _accept(seen: AcceptObservation, history: History) -> Decision:
    certificate = seen.certificate
    if seen.is_valid and certificate is not None and (history.count("accept") or not seen.software_changed):
        return Done({"verdict": certificate.verdict, "expires": certificate.expires.isoformat()})
    if not history.count("accept"):
        return Act("accept", "run the acceptance tests", Effect.RESET if seen.disturbs else Effect.READ)
    failures = [test for test in certificate.tests if test.verdict != "PASS"] if certificate else []
    return Failed(
        code="accept",
        what=f"acceptance verdict is {certificate.verdict if certificate else 'NOT-RUN'}",
        expected="every required test PASS",
        found="; ".join(f"{test.name}: {test.verdict} {test.why or ''}".strip() for test in failures) or None,
        hint="the JUnit report is under .metalwright/acceptance; repair and run provision again",
    )


def _ready(seen: ReadyObservation, history: History) -> Decision:
    if seen.unsettled:
        return Failed(
            code="unsettled",
            what="facts that the BMC could not tell were not settled by a better witness",
            found=", ".join(seen.unsettled),
            hint="`metalwright match` says who can tell each fact; what only a person sees goes into the rack file",
        )
    if seen.is_recorded:
        return _give_back(seen.undrain)
    return _act_once(history, Act("record", "record the known-good tuple", Effect.READ), "the record was not kept")


def _give_back(undrain: UndrainView) -> Decision:
    """A drained node goes back to its scheduler last of all: only a ready one may."""
    failed = Failed(
        code="undrain",
        what=undrain.told or "the undrain hook did not end",
        expected="exit status 0",
        found=undrain.found,
        hint="the node is good and still drained; repair the hook, then `metalwright provision NODE` calls it again",
    )
    match undrain.step:
        case "due":
            return Act("undrain", "give the node back to its scheduler", Effect.WRITE)
        case "running":
            told = f": {undrain.told}" if undrain.told else ""
            return Wait(undrain.pause_s, f"undraining{told}", float("inf"), failed)
        case "failed":
            return failed
    return Done({})


def _act_once(history: History, act: Act, otherwise: str) -> Decision:
    """An act that must show at once; a second round means that it did not take."""
    if not history.count(act.name):
        return act
    return Failed(
        code=f"{act.name}-read-back",
        what=f"{act.name}: {otherwise}",
        hint="the write was accepted but a later read does not show it; see the journal for the BMC's answers",
    )
