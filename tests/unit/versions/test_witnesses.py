"""Which of two versions that a BMC shows for one thing is believed."""

from __future__ import annotations

from metalwright.firmware import Installed, Machine, firmware_checks


def test_the_inventory_speaks_where_the_system_shows_a_word_without_order() -> None:
    machine = Machine("ThinkSystem SR670 V2", None, "U8E122J", (Installed("UEFI", "Firmware:UEFI", "22J-1.51"),))
    (good,), (bad,) = (firmware_checks({"bios": rule}, machine) for rule in (">=1.50", ">=24A-1.60"))
    assert (good.found, good.holds, bad.holds) == ("22J-1.51", True, False)


def test_a_constraint_on_the_build_is_judged_by_who_shows_the_build() -> None:
    machine = Machine("ThinkSystem SR670 V2", None, "U8E122J", (Installed("UEFI", "Firmware:UEFI", "22J-1.51"),))
    (good,), (bad,) = (firmware_checks({"bios": rule}, machine) for rule in (">=U8E122H", ">=U8E124A"))
    assert (good.found, good.holds, bad.holds) == ("U8E122J", True, False)


def test_the_system_speaks_first_where_its_version_can_be_compared() -> None:
    machine = Machine("DL380a", None, "U58 v2.44 (01/17/2025)", (Installed("2", "System ROM", "U58 v2.40 (01/2024)"),))
    (check,) = firmware_checks({"bios": ">=U58 v2.44"}, machine)
    assert check.holds is True


def test_a_word_without_order_stays_unknown_where_nothing_better_is_shown() -> None:
    machine = Machine("G593", None, "R14_F37", (Installed("BIOS", "BIOS", "R14_F37"),))
    same, other = (firmware_checks({"bios": rule}, machine)[0] for rule in ("==R14_F37", ">=R15_F40"))
    assert (same.holds, other.holds) == (True, None)
