"""Each kind of trouble is found, named, and has something to do about it."""

from __future__ import annotations

import pytest
from tests.accelerators.texts import text

from metalwright.accelerators.health import WantedGpus, faults
from metalwright.accelerators.nvidia_smi import parse

BOARD = WantedGpus(count=8, mig=False, ecc=True, has_fabric=True, driver_version="580.95.05", power_cap_w=700)
ANY = WantedGpus()


def found(name: str, wanted: WantedGpus = ANY) -> list[tuple[str, str | None, str]]:
    return [(fault.code, fault.gpu, fault.action) for fault in faults(parse(text(f"nvidia-smi-{name}")), wanted)]


def test_a_board_in_good_order_has_no_fault() -> None:
    assert found("h100-8x", BOARD) == []


@pytest.mark.parametrize(
    ("name", "wanted", "expected"),
    [
        ("h100-7-of-8", BOARD, [("gpu-count", None, "reboot")]),
        ("h100-lost", WantedGpus(count=2), [("gpu-count", None, "reboot"), ("gpu-lost", "0000:3b:00.0", "reboot")]),
        (
            "h100-remap-pending",
            ANY,
            [
                ("remap-pending", "0000:3b:00.0", "reset-gpu"),
                ("ecc-uncorrected", "0000:3b:00.0", "reset-gpu"),
                ("remap-failed", "0000:4c:00.0", "replace"),
            ],
        ),
        ("h100-slow", ANY, [("link-narrow", "0000:19:00.0", "look")]),
        ("mismatch", ANY, [("driver-library-mismatch", None, "reboot")]),
        ("no-driver", ANY, [("no-driver", None, "look")]),
        ("empty", ANY, [("no-answer", None, "look")]),
        ("h100-8x", WantedGpus(driver_version="575.57.08"), [("driver-version", None, "reboot")]),
        (
            "h100-mig-pending",
            WantedGpus(mig=True),
            [("mig-differs", "0000:19:00.0", "configure"), ("mig-pending", "0000:3b:00.0", "reset-gpu")],
        ),
        ("h100-mig-pending", WantedGpus(mig=False), [("mig-differs", "0000:3b:00.0", "configure")]),
        ("t4", WantedGpus(mig=True), [("mig-unsupported", "0000:00:1e.0", "configure")]),
        ("t4", WantedGpus(mig=False), [("link-narrow", "0000:00:1e.0", "look")]),
        ("rtx-pro-6000", WantedGpus(ecc=True), [("ecc-differs", "0000:61:00.0", "configure")]),
        ("rtx-pro-6000", WantedGpus(has_fabric=True), [("fabric", "0000:61:00.0", "look")]),
        ("rtx-pro-6000", WantedGpus(power_cap_w=250), [("power-cap", "0000:61:00.0", "configure")]),
    ],
)  # fmt: skip
def test_trouble_is_named_with_the_gpu_and_what_to_do(
    name: str, wanted: WantedGpus, expected: list[tuple[str, str | None, str]]
) -> None:
    got = found(name, wanted)
    hides = name == "t4" and wanted.mig is True  # that machine also gave its GPU half of the lanes
    assert [fault for fault in got if not (hides and fault[0] == "link-narrow")] == expected


def test_a_fabric_that_is_not_completed_with_success_is_a_fault() -> None:
    reading = parse(text("nvidia-smi-h100-fabric"))
    said = [fault.found for fault in faults(reading, WantedGpus(has_fabric=True))]
    assert said == ["state In Progress, status unknown", "state Completed, status Failure"]
