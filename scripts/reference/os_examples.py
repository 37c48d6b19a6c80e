"""Examples of the phases that look at the operating system, and of the last one."""

from __future__ import annotations

from datetime import UTC, datetime

from scripts.reference.examples import Example, after

from metalwright.lifecycle import History
from metalwright.lifecycle.observations import (
    AcceptObservation,
    ReadyObservation,
    RestartView,
    SoftwareObservation,
)
from metalwright.model.certificate import Certificate, TestResult, TestVerdict
from metalwright.model.phase import Phase


def _certificate(verdict: TestVerdict) -> Certificate:
    return Certificate(
        node="n",
        verdict=verdict,
        serials={"serial": "A"},
        recipe="sha256:r",
        image="sha256:i",
        tests=(TestResult(name="disk-read", verdict=verdict),),
        issued=datetime(2026, 1, 1, tzinfo=UTC),
        expires=datetime(2026, 7, 1, tzinfo=UTC),
    )


def _accept(verdict: TestVerdict | None, *, is_valid: bool = False, changed: bool = False) -> AcceptObservation:
    return AcceptObservation("sha256:r", _certificate(verdict) if verdict else None, is_valid, changed)


_APPLIED_AND_RESTARTED = History({"software": 1, "restart": 1})


def _restart(view: RestartView) -> SoftwareObservation:
    return SoftwareObservation("sha256:r", None, view)


OS_EXAMPLES: dict[Phase, tuple[Example, ...]] = {
    Phase.SOFTWARE: (
        Example("always, at first", SoftwareObservation("sha256:r", "sha256:r")),
        Example("the deploys succeeded", SoftwareObservation("sha256:r", None), after("software")),
        Example("they ask for a restart", _restart(RestartView(("the driver",))), after("software")),
        Example("it goes down", _restart(RestartView(("the driver",))), _APPLIED_AND_RESTARTED),
        Example("it does not answer", _restart(RestartView(None)), _APPLIED_AND_RESTARTED),
        Example("it is up again", _restart(RestartView((), is_new_boot=True)), _APPLIED_AND_RESTARTED),
        Example(
            "applied once more after it",
            _restart(RestartView((), is_new_boot=True)),
            History({"software": 2, "restart": 1}),
        ),
        Example("it asks again", _restart(RestartView(("the driver",), is_new_boot=True)), _APPLIED_AND_RESTARTED),
    ),
    Phase.ACCEPT: (
        Example("a valid certificate, software unchanged", _accept("PASS", is_valid=True)),
        Example("a valid certificate, but software changed", _accept("PASS", is_valid=True, changed=True)),
        Example("no certificate", _accept(None)),
        Example("the tests passed", _accept("PASS", is_valid=True, changed=True), after("accept")),
        Example("a test failed", _accept("FAIL"), after("accept")),
        Example("a required test did not run", _accept("NOT-RUN"), after("accept")),
    ),
    Phase.READY: (
        Example("settled and recorded", ReadyObservation((), is_recorded=True)),
        Example("settled, not recorded", ReadyObservation((), is_recorded=False)),
        Example("a deferred fact was never settled", ReadyObservation(("unknown-memory memory",), is_recorded=False)),
        Example("the record does not show", ReadyObservation((), is_recorded=False), after("record")),
    ),
}
