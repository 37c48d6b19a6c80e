"""Versions are compared part by part; what cannot be compared is unknown and never passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.model.report import BmcFacts, FirmwareItem, Gpu, HardwareReport, SystemFacts
from metalwright.versions import firmware_checks, parts, satisfies


@pytest.mark.parametrize(
    ("version", "constraint", "holds"),
    [
        ("4.10", ">=4.2", True),
        ("5.3.010", "==5.3.10", True),
        ("2.9", ">=2.12", False),
        ("1.4", "==1.4.0", True),
        ("1.0", "<1.0", False),
        ("U32 v2.10 (05/2024)", ">=2.0", None),
        ("U32 v2.10 (05/2024)", "==U32", None),
        ("24.10-17", ">=24.10-9", True),
        ("abc-1", "==abc-1", True),
        ("", ">=1.0", None),
        (None, ">=1.0", None),
    ],
)
def test_a_version_is_compared_by_its_parts(version: str | None, constraint: str, holds: bool | None) -> None:
    assert satisfies(version, constraint) is holds


@given(st.lists(st.integers(0, 999), min_size=1, max_size=5), st.lists(st.integers(0, 999), min_size=1, max_size=5))
def test_comparison_agrees_with_the_numbers(left: list[int], right: list[int]) -> None:
    def trimmed(numbers: list[int]) -> list[int]:
        kept = list(numbers)
        while len(kept) > 1 and kept[-1] == 0:
            kept.pop()
        return kept

    one, other = ".".join(map(str, left)), ".".join(map(str, right))
    assert satisfies(one, f">={other}") is (trimmed(left) >= trimmed(right))
    assert satisfies(one, f"<{other}") is (trimmed(left) < trimmed(right))


@given(st.text(max_size=20))
def test_any_text_is_a_version_or_unknown_and_never_an_error(text: str) -> None:
    found = parts(text)
    assert found is None or all(number >= 0 for number in found)
    assert satisfies(text, ">=1.0") in (True, False, None)


def report() -> HardwareReport:
    return HardwareReport(
        bmc=BmcFacts(firmware_version="1.4"),
        system=SystemFacts(id="1", bios_version="2.10"),
        gpus=(Gpu(firmware_version="96.00.61"), Gpu(firmware_version="96.00.5")),
        firmware=(FirmwareItem(id="CPLD_0", name="Main CPLD", version="3"),),
    )


def test_every_gpu_version_is_checked_not_the_first_one() -> None:
    checks = firmware_checks({"gpu": ">=96.00.61"}, report())
    assert {(check.found, check.holds) for check in checks} == {("96.00.61", True), ("96.00.5", False)}


def test_other_names_are_found_in_the_firmware_inventory_by_id_or_name() -> None:
    assert [check.holds for check in firmware_checks({"main-cpld": "==3"}, report())] == [True]
    assert [check.holds for check in firmware_checks({"cpld-0": "==4"}, report())] == [False]


def test_a_name_that_the_bmc_does_not_list_is_unknown() -> None:
    assert [check.holds for check in firmware_checks({"nvswitch": ">=1"}, report())] == [None]
