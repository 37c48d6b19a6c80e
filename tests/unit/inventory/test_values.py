from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.redfish.inventory.values import ODD, identity_of, mac_of, natural_key, number_of, text_of, uuid_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("43.000000", 43.0), ("5500", 5500.0), ("48", 48.0), (48, 48.0), ("", None), ("N/A", None), (None, None)],
)
def test_numbers_are_read_where_text_stands_for_them(value: Any, expected: float | None) -> None:
    assert number_of(value) == expected


@pytest.mark.parametrize("value", ["nan", "inf", True, [], {}, "1.112 V", float("inf")])
def test_what_is_no_number_is_odd(value: Any) -> None:
    assert number_of(value) is ODD


@pytest.mark.parametrize("value", ["", "   ", "N/A", "nil", "(null)", "....", "\x03", None])
def test_texts_that_say_nothing_are_unknown(value: Any) -> None:
    assert text_of(value) is None


@pytest.mark.parametrize(
    "value", ["To be filled by O.E.M.", "00000000000000", "01234567890123456789AB", "NA", "          "]
)
def test_filler_is_no_identity(value: str) -> None:
    assert identity_of(value) is None


@pytest.mark.parametrize("value", ["B8:3F:D2:00:00:01", "b8-3f-d2-00-00-01", "B83FD2000001", "b83f.d200.0001"])
def test_di_04_macs_have_one_normal_form(value: str) -> None:
    assert mac_of(value) == "b8:3f:d2:00:00:01"


@pytest.mark.parametrize(
    "value", ["00:00:00:00:00:00", ":".join(["aa"] * 20), "aa:bb:cc:dd:ee", "51:40:2E:12:36:B1:FD:A0"]
)
def test_di_04_what_is_not_six_octets_is_no_mac(value: str) -> None:
    assert mac_of(value) is ODD


def test_a_uuid_of_zeros_and_the_bmc_mac_identifies() -> None:
    assert uuid_of("00000000-0000-0000-0000-7CC2554BFDFF") == "00000000-0000-0000-0000-7cc2554bfdff"
    assert uuid_of("00000000-0000-0000-0000-000000000000") is None


def test_slots_sort_as_people_count() -> None:
    assert sorted(["DIMM 10", "DIMM 2", "DIMM 1"], key=natural_key) == ["DIMM 1", "DIMM 2", "DIMM 10"]


@given(JSON)
def test_no_value_at_all_raises(value: Any) -> None:
    for read in (text_of, identity_of, number_of, mac_of, uuid_of):
        read(value)
