from __future__ import annotations

import pytest

from metalwright.matching.groups import Fit, assign, shortfalls
from metalwright.matching.names import is_gpu, is_model, is_same_maker, told_slot
from metalwright.matching.slots import missing_slots


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("Xeon Platinum 8462Y+", "Intel(R) Xeon(R) Platinum 8462Y+"),
        ("EPYC 7763", "AMD EPYC 7763 64-Core Processor"),
        ("DGX H100", "DGXH100"),
        ("ProLiant DL380a Gen11", "HPE ProLiant DL380a Gen11"),
    ],
)
def test_spellings_of_one_model_agree(wanted: str, found: str) -> None:
    assert is_model(wanted, found)


@pytest.mark.parametrize(
    ("wanted", "found"), [("Xeon Gold 6354", "Xeon Gold 6354Y"), ("EPYC 7763", "EPYC 7763P"), ("", "x")]
)
def test_other_models_do_not(wanted: str, found: str) -> None:
    assert not is_model(wanted, found)


def test_gpu_names_contradict_only_where_both_speak() -> None:
    assert is_gpu("H100 SXM 80GB", "NVIDIA H100 80GB HBM3")
    assert is_gpu("A100 SXM 40GB", "NVIDIA A100-SXM4-40GB")
    assert not is_gpu("H100 SXM 80GB", "NVIDIA H100 PCIe")
    assert not is_gpu("A100 SXM 80GB", "NVIDIA A100-SXM4-40GB")
    assert not is_gpu("L40S", "NVIDIA L40")
    assert not is_gpu("H100", "NVIDIA H200 SXM 141GB")


def test_makers_agree_without_their_legal_form() -> None:
    assert is_same_maker("Dell", "Dell Inc.")
    assert not is_same_maker("HPE", "Hewlett")


def test_gaps_in_numbered_slots_are_named() -> None:
    assert missing_slots([f"SXM{n}" for n in (1, 2, 4)], 4) == ["SXM3"]
    assert missing_slots([f"GPU_{n}" for n in (0, 1, 2)], 4) == ["GPU_3"]
    assert missing_slots(["Slot A", "Slot B"], 3) == []
    assert missing_slots(["DIMM 1", "DIMM 9"], 3) == []


def test_empty_slots_are_named_where_sockets_repeat_each_other() -> None:
    full = [f"P{socket}-DIMM{bank}1" for socket in (1, 2) for bank in "ABCDEFGH"]
    assert missing_slots([slot for slot in full if slot != "P2-DIMMH1"], 16) == ["P2-DIMMH1"]
    assert missing_slots(full[:8], 16) == []
    assert missing_slots(["A1", "A1", "B1"], 4) == []


def test_an_assignment_moves_parts_to_make_room() -> None:
    fits = [[Fit.YES, Fit.YES], [Fit.YES, Fit.NO]]
    assert assign(fits, [1, 1], Fit.YES) == {0: 1, 1: 0}
    assert shortfalls({0: 0}, [1, 2]) == [0, 2]


@pytest.mark.parametrize(("slot", "told"), [("1", "slot 1"), ("AIOM", "AIOM"), (None, "unknown slot")])
def test_a_slot_that_is_a_number_says_what_it_counts(slot: str | None, told: str) -> None:
    assert told_slot(slot) == told
