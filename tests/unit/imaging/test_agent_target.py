"""Which disk is the target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Disk, DiskContent, DiskRule
from metalwright.imaging.agent.target import check_content, is_same_wwn, pick_disk

TEXT = st.one_of(st.none(), st.sampled_from(["A", "B", "C"]))
SIZES = st.integers(0, 20)
DISKS = st.lists(
    st.builds(
        Disk,
        path=st.sampled_from(["/dev/sda", "/dev/sdb", "/dev/nvme0n1"]),
        serial=TEXT,
        wwn=TEXT,
        model=st.none(),
        size_bytes=SIZES,
        protocol=st.sampled_from([None, "NVMe", "SATA"]),
        read_only=st.booleans(),
        removable=st.booleans(),
        content=st.just(DiskContent("blank", (), None)),
    ),
    max_size=5,
).map(tuple)
RULES = st.builds(
    DiskRule,
    role=st.just("system"),
    serial=TEXT,
    wwn=TEXT,
    min_bytes=SIZES,
    max_bytes=st.one_of(st.none(), SIZES),
    protocol=st.sampled_from([None, "NVMe"]),
)


def satisfies(disk: Disk, rule: DiskRule) -> bool:
    return (
        not disk.read_only
        and not disk.removable
        and rule.serial in (None, disk.serial)
        and rule.wwn in (None, disk.wwn)
        and rule.protocol in (None, disk.protocol)
        and rule.min_bytes <= disk.size_bytes
        and (rule.max_bytes is None or disk.size_bytes <= rule.max_bytes)
    )


@given(DISKS, RULES, SIZES)
def test_only_the_one_disk_that_satisfies_the_whole_rule_is_ever_picked(
    disks: tuple[Disk, ...], rule: DiskRule, content_bytes: int
) -> None:
    expected = [disk for disk in disks if satisfies(disk, rule)]
    try:
        picked = pick_disk(disks, rule, content_bytes)
    except AgentError as error:
        assert len(expected) != 1 or expected[0].size_bytes < content_bytes
        assert not error.wrote  # noqa: PT017 - any stop comes before a write
        return
    assert [picked] == expected
    assert picked.size_bytes >= content_bytes


@given(DISKS, RULES)
def test_the_order_of_disks_changes_nothing(disks: tuple[Disk, ...], rule: DiskRule) -> None:
    def outcome(found: tuple[Disk, ...]) -> object:
        try:
            return pick_disk(found, rule, 0)
        except AgentError as error:
            return error.code

    assert outcome(disks) == outcome(disks[::-1])


def test_im_01_a_serial_names_the_same_disk_whatever_the_kernel_calls_it() -> None:
    """The system disk is named by serial, WWN or a rule that fits one disk; a kernel name is refused by ``check``."""
    rule = DiskRule("system", "S1", None, 0, None, None)
    for names in (("/dev/sda", "/dev/sdb"), ("/dev/sdb", "/dev/sda")):
        disks = tuple(
            Disk(path, serial, None, "m", 4 << 30, "SATA", False, False, DiskContent("blank", (), None))
            for path, serial in zip(names, ("S1", "S2"), strict=True)
        )
        assert pick_disk(disks, rule, 0).serial == "S1"
        assert pick_disk(disks[::-1], rule, 0).path == names[0]


@pytest.mark.parametrize(
    ("kernel", "bmc", "is_same"),
    [
        ("naa.5000c50015ea71aa", "5000C50015EA71AA", True),
        ("naa.5000c50015ea71aa", "0x5000c50015ea71aa", True),
        ("eui.0025385c2140432d", "00-25-38-5C-21-40-43-2D", True),
        ("naa.5000c50015ea71aa", "5000c50015ea71ab", False),
        (None, "5000c50015ea71aa", False),
        ("", "", False),
    ],
)
def test_wwns_are_compared_without_their_spelling(kernel: str | None, bmc: str, is_same: bool) -> None:
    assert is_same_wwn(kernel, bmc) is is_same


STAMP = {"node": "lab-1", "journal": "j1", "run": "r1", "written": "2026-11-30T12:00:00Z"}


def holding(state: str, stamp: dict[str, str] | None = None) -> Disk:
    content = DiskContent(state, (), stamp)
    return Disk("/dev/nvme0n1", "S1", None, "m", 4 << 30, "NVMe", False, False, content)


@pytest.mark.parametrize("disk", [holding("blank"), holding("ours", {**STAMP, "run": "r0"})])
def test_a_blank_disk_and_this_nodes_own_may_be_written(disk: Disk) -> None:
    check_content(disk, False, STAMP)


@pytest.mark.parametrize(
    "disk",
    [
        holding("foreign"),
        holding("ours"),
        holding("ours", {**STAMP, "journal": "lost"}),
        holding("ours", {**STAMP, "node": "lab-9"}),
    ],
    ids=["foreign", "no stamp", "another journal", "another node"],
)
def test_any_other_disk_is_refused_unless_overwriting_was_ordered(disk: Disk) -> None:
    with pytest.raises(AgentError) as caught:
        check_content(disk, False, STAMP)
    assert caught.value.code == "foreign-disk"
    check_content(disk, True, STAMP)
