"""Parts counted before and after the power was off."""

from __future__ import annotations

import subprocess

from metalwright.acceptance.parts import COUNTS, compare_counts, count_command, read_counts

ALL = dict.fromkeys(COUNTS, 8)
BOOTS = ("a", "b")


def verdict(after: dict[str, int], boots: tuple[str | None, str | None] = BOOTS) -> tuple[str, str]:
    found = compare_counts("cold-restart", ALL, after, boots)
    return found.verdict, str(found.why)


def test_this_machine_counts_every_part() -> None:
    done = subprocess.run(["sh", "-c", count_command()], capture_output=True, text=True, check=False)
    counts = read_counts(done.stdout)
    assert counts.keys() == COUNTS.keys()
    assert counts["processors"] >= 1
    assert counts["memory in GiB"] >= 1


def test_all_parts_there_again_after_a_new_boot_pass() -> None:
    assert verdict(ALL)[0] == "PASS"


def test_a_part_that_is_gone_or_came_fails_and_is_named() -> None:
    assert verdict(ALL | {"GPUs of the driver": 7}) == ("FAIL", "GPUs of the driver: 8 before, 7 after")
    assert verdict(ALL | {"disks": 9}) == ("FAIL", "disks: 8 before, 9 after")


def test_without_a_new_boot_or_without_a_count_nothing_is_proven() -> None:
    assert verdict(ALL, ("a", "a")) == ("NOT-RUN", "the node did not boot anew: boot a, then a")
    assert verdict(ALL, ("a", None))[0] == "NOT-RUN"
    few = {name: count for name, count in ALL.items() if name != "disks"}
    assert verdict(few) == ("NOT-RUN", "not counted: disks")
    assert read_counts("disks=\nprocessors=x\nPCI_devices=6\n") == {"PCI devices": 6}
