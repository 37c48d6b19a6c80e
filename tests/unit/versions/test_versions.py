"""Versions are compared part by part; what cannot be compared is unknown and never passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.versions import compare, parse_version, satisfies


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
        ("U32 v2.10 (05/2024)", ">=U32 v2.9", True),
        ("U58 v2.44 (01/17/2025)", ">=U32 v2.9", None),
        ("iDRAC 7.10.30.00", ">=7.10", True),
        ("iLO 6 v1.66", "==1.66", True),
        ("BIOS Date: 08/04/2023 Ver 1.4", "==1.4", True),
        ("TGBT42S 2.83 2023-07-05", ">=TGBT40A 2.80", True),
        ("1.14.00 May 28 2025", ">=1.11.00", True),
        ("96.00.AF.00.02", ">=96.00.61", True),
        ("96.00.61.00.01", ">=96.00.AF", False),
        ("HGX-22.10-1-rc57", ">HGX-22.10-1-rc34", True),
        ("HGX-22.10-1-rc57", ">=HGX-22.10-1", None),
        ("1.45.455b66-rev4", ">=1.44", True),
        ("1.45.455b66-rev4", ">=1.45", None),
        ("1.0b", ">1.0a", True),
        ("1.7.5F", ">=1.7.50", None),
        ("01.04.00", "==1.4", True),
        ("1.5", ">=1.4, <2", True),
        ("2.5", ">=1.4, <2", False),
        ("2.5", "==1.4 | ==2.5", True),
        ("C27", ">=C26", True),
        ("C27", ">=F26", None),
        ("QGX334I 4.10 2024-06-11", ">=QGX330A 4.00", True),
        ("22J-1.51", ">=24A-1.60", False),
        ("24A-1.60", "==1.60", True),
        ("U8E122J", ">=U8E120A", True),
        ("U8E122J", ">=U8E122H", True),
        ("U8E122H", ">=U8E122J", False),
        ("U8E122J", ">=QGX320A", None),
        ("U8E122J", ">=1.50", None),
        ("U8E122J-1.51", ">=U8E114E-1.10", True),
        ("SE5C620.86B.02.01.0008.C0001.031920191559", ">=SE5C620.86B.02.01.0012", False),
        ("SE5C620.86B.02.01.0014.082620210524", ">=SE5C620.86B.02.01.0008.031920191559", True),
        ("SE5C620.86B.02.01.0008.031920191559", "==SE5C620.86B.02.01.0008", True),
        ("SE5C620.86B.02.01.0008.C0001.031920191559", "==SE5C620.86B.02.01.0008.031920191559", None),
        ("SE5C620.86B.00.01.5016.032520190947", "<SE5C620.86B.00.01.0016", None),
        ("SE5C620.86B.00.01.5016.032520190947", "<SE5C620.86B.02.01.0008", True),
        ("SE5C620.86B.0X.02.0001.051420190324", ">=SE5C620.86B.02.01.0008", None),
        ("SE5C610.86B.02.01.0014.082620210524", ">=SE5C620.86B.02.01.0008", None),
        ("nc.1.6.19-5-shasta-release.arm.2022-02-25T01:38:09+00:00.d20b426", ">=nc.1.6.16", True),
        ("nc.1.6.16-21-prod-master.arm.2022-01-25T16:23:33+00:00.28331ff", "==nc.1.6.16", True),
        ("nc.1.6.16-21-prod-master.arm.2022-01-25T16:23:33+00:00.28331ff", "==nc.1.6.16-22-x", None),
        ("nc.1.6.16-21-prod-master.arm.2022-01-25T16:23:33+00:00.28331ff", ">=sc.1.6.16", None),
        ("ex235a.bios-1.3.6", ">=ex235a.bios-1.3.10", False),
        ("ex235a.bios-1.3.6", ">=ex425.bios-1.3.0", None),
        ("R14_F37", ">=R14_F36", None),
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
    found = parse_version(text)
    assert found is None or all(number >= 0 for number in found.numbers)
    assert compare(text, text) == 0
    assert satisfies(text, ">=1.0") in (True, False, None)
