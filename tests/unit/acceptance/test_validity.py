"""A certificate is about the parts and the recipe that were tested, and about no others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metalwright.acceptance.certificate import make_certificate
from metalwright.acceptance.validity import Validity, changed_parts, compare, parts_of
from metalwright.model.certificate import Certificate
from metalwright.model.report import HardwareReport

PARTS = st.dictionaries(
    st.sampled_from(["system", "drive 0", "drive 1", "gpu SXM1", "gpu SXM2", "psu 1"]), st.sampled_from("ABC")
)


def report(**changes: Any) -> HardwareReport:
    data = {
        "system": {"id": "1", "serial": "S1"},
        "drives": [{"slot": "0", "serial": "D0"}, {"slot": "1", "serial": "D1"}, {"slot": "2", "serial": None}],
        "gpus": [{"slot": "SXM", "serial": "G1"}, {"slot": "SXM", "serial": "G2"}],
        "psus": [{"serial": "P1"}],
        "nics": [{"slot": "OCP", "ports": [{"name": "1", "mac": "52:54:00:00:00:01"}]}],
    }
    return HardwareReport.model_validate(
        {"bmc": {}, "chassis": {}, "cpus": None, "memory": {}, "firmware": None, "problems": []} | data | changes
    )


def certificate() -> Certificate:
    return make_certificate(
        node="n1",
        serials=parts_of(report()),
        blueprint="box@1.0.0",
        recipe="sha256:1",
        image="sha256:2",
        tests=[],
        issued=datetime(2026, 11, 30, tzinfo=UTC),
    )


def now(found: HardwareReport | None, *, recipe: str = "sha256:1", blueprint: str = "box@1.0.0") -> Validity:
    return compare(certificate(), recipe=recipe, blueprint=blueprint, report=found, why_unread="it is off")


def test_every_part_with_a_serial_is_named_once() -> None:
    assert parts_of(report()) == {
        "system": "S1",
        "drive 0": "D0",
        "drive 1": "D1",
        "gpu SXM": "G1",
        "gpu SXM #2": "G2",
        "psu 1": "P1",
        "port OCP 1": "52:54:00:00:00:01",
    }


def test_the_same_machine_and_recipe_void_nothing() -> None:
    assert now(report()) == Validity()


def test_another_part_a_missing_one_and_a_new_one_are_named() -> None:
    drives = [{"slot": "0", "serial": "D0"}, {"slot": "1", "serial": "D9"}, {"slot": "3", "serial": "D3"}]
    assert now(report(drives=drives, gpus=[{"slot": "SXM", "serial": "G1"}])).void == (
        "part: drive 1 was D1, is D9",
        "part: drive 3 is new (D3)",
        "part: gpu SXM #2 is gone (G2)",
    )


def test_parts_that_the_bmc_does_not_tell_now_are_not_compared_and_that_is_said() -> None:
    assert now(report(gpus=None)) == Validity((), ("parts of the kind 'gpu': the BMC tells none now",))
    assert now(None) == Validity((), ("parts: it is off",))


def test_another_recipe_or_blueprint_is_named() -> None:
    assert now(report(), blueprint="box@1.1.0", recipe="sha256:9").void == (
        "blueprint: certified as box@1.0.0, the site wants box@1.1.0",
    )
    assert (
        now(report(), recipe="sha256:9").void[0].startswith("recipe: certified with sha256:1, the site wants sha256:9")
    )


@given(PARTS, PARTS)
def test_nothing_changed_exactly_when_all_comparable_parts_agree(before: dict[str, str], after: dict[str, str]) -> None:
    kinds = {name.split()[0] for name in before} & {name.split()[0] for name in after}
    same = all(before.get(name) == after.get(name) for name in before.keys() | after if name.split()[0] in kinds)
    assert (changed_parts(before, after) == ()) == same
