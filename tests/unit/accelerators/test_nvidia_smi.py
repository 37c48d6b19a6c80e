"""What nvidia-smi says is read with its units; what it does not say stays unknown."""

from __future__ import annotations

import pytest
from tests.accelerators.texts import text

from metalwright.accelerators.gpu import Clocks, Fabric, Gpu, MemoryErrors, Mode, PcieLink, Power, Repair
from metalwright.accelerators.nvidia_smi import parse


def gpu(name: str, index: int = 0) -> Gpu:
    return parse(text(f"nvidia-smi-{name}")).gpus[index]


def test_a_whole_board_is_read() -> None:
    reading = parse(text("nvidia-smi-h100-8x"))
    assert (reading.driver_version, reading.platform_version) == ("580.95.05", "13.0")
    assert (reading.attached, len(reading.gpus), reading.failure) == (8, 8, None)
    assert len({item.serial for item in reading.gpus}) == 8
    assert reading.gpus[0] == Gpu(
        address="0000:19:00.0",
        name="NVIDIA H100 80GB HBM3",
        architecture="Hopper",
        pci_id="10de:2330",
        serial="1650523010000",
        uuid="GPU-00000000-1111-2222-3333-444444444444",
        vbios="96.00.61.00.01",
        memory_bytes=81559 * 2**20,
        temperature_c=31.0,
        is_persistent=True,
        ecc=Mode(current=True, pending=True),
        mig=Mode(current=False, pending=False),
        link=PcieLink(generation=5, generation_max=5, lanes=16, lanes_max=16),
        errors=MemoryErrors(corrected=0, uncorrected=0, corrected_ever=3, uncorrected_ever=0),
        repair=Repair(remapped_corrected=0, remapped_uncorrected=0, is_remap_pending=False, has_remap_failed=False),
        power=Power(draw_w=71.5, cap_w=700.0, cap_default_w=700.0, cap_min_w=200.0, cap_max_w=700.0),
        clocks=Clocks(compute_mhz=345.0, compute_max_mhz=1980.0, memory_mhz=2619.0, memory_max_mhz=2619.0),
        fabric=Fabric(state="Completed", status="Success"),
        throttling=(),
    )


def test_elements_of_driver_510_are_read() -> None:
    found = gpu("a100-mig")
    assert found.mig == Mode(current=True, pending=True)
    assert found.power == Power(draw_w=66.92, cap_w=400.0, cap_default_w=400.0, cap_min_w=100.0, cap_max_w=400.0)
    assert found.errors == MemoryErrors(corrected_ever=0, uncorrected_ever=0)
    assert found.repair == Repair()
    assert found.fabric == Fabric()
    assert (found.throttling, found.is_persistent) == ((), False)


def test_a_gpu_without_mig_has_no_mig_mode_and_pages_instead_of_rows() -> None:
    found = gpu("t4")
    assert (found.mig.is_absent, found.mig.is_settled_at(False), found.mig.is_settled_at(True)) == (True, True, False)
    assert found.repair == Repair(retired_pages=0, is_retirement_pending=False)
    assert found.link == PcieLink(generation=3, generation_max=3, lanes=8, lanes_max=16)
    assert found.throttling is None


def test_words_of_driver_590_for_what_no_longer_exists_are_no_values() -> None:
    found = gpu("rtx-pro-6000")
    assert found.power == Power(draw_w=3.99, cap_w=300.0, cap_default_w=300.0, cap_min_w=250.0, cap_max_w=325.0)
    assert found.ecc == Mode(current=False, pending=False)
    assert found.errors == MemoryErrors()
    assert (found.fabric, found.recovery) == (Fabric(), None)


def test_seven_of_eight_are_seven() -> None:
    reading = parse(text("nvidia-smi-h100-7-of-8"))
    assert (len(reading.gpus), reading.attached) == (7, 7)
    assert "1650523010005" not in {item.serial for item in reading.gpus}


def test_a_lost_gpu_is_told_apart_and_says_nothing_else() -> None:
    assert gpu("h100-lost", 1) == Gpu(address="0000:3b:00.0", is_lost=True)
    assert not gpu("h100-lost").is_lost


def test_rows_that_wait_for_a_reset_and_rows_that_could_not_be_remapped() -> None:
    assert gpu("h100-remap-pending", 1).repair.is_remap_pending is True
    assert gpu("h100-remap-pending", 1).errors.uncorrected == 1
    assert gpu("h100-remap-pending", 2).repair.has_remap_failed is True


def test_mig_that_waits_for_a_reset_is_settled_at_neither() -> None:
    pending = gpu("h100-mig-pending", 1).mig
    assert pending == Mode(current=False, pending=True)
    assert (pending.is_settled_at(True), pending.is_settled_at(False)) == (False, False)
    assert gpu("h100-mig-pending").mig.is_settled_at(False) is True


def test_the_fabric_is_told_by_state_and_status() -> None:
    states = [item.fabric for item in parse(text("nvidia-smi-h100-fabric")).gpus]
    assert [(state.state, state.status) for state in states] == [
        ("Completed", "Success"),
        ("In Progress", None),
        ("Completed", "Failure"),
    ]


def test_lost_lanes_and_heat_show() -> None:
    assert gpu("h100-slow").link.lanes == 8
    assert gpu("h100-slow", 1).throttling == ("hw_thermal_slowdown",)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("mismatch", "driver-library-mismatch", "Failed to initialize NVML: Driver/library version mismatch"),
        ("no-driver", "no-driver", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        ("no-devices", "no-devices", "No devices were found"),
        ("handle", "gpu-lost", "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error"),
        ("empty", "no-answer", "nothing"),
        ("truncated", "unreadable", "<?xml"),
    ],
)
def test_text_that_is_no_reading_is_a_failure_with_its_kind(name: str, kind: str, said: str) -> None:
    reading = parse(text(f"nvidia-smi-{name}"))
    assert reading.failure is not None
    assert reading.failure.kind == kind
    assert reading.failure.said.startswith(said)
    assert (reading.gpus, reading.driver_version) == ((), None)


def test_a_complaint_behind_the_document_does_not_hide_it() -> None:
    assert len(parse(text("nvidia-smi-h100-8x") + "\nWARNING: infoROM is corrupted at gpu 0000:19:00.0\n").gpus) == 8


def test_a_document_that_declares_entities_is_not_read() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log><gpu id="0"/></nvidia_smi_log>'
    failure = parse(bomb).failure
    assert failure is not None
    assert failure.kind == "unreadable"


def test_a_document_that_counts_gpus_and_shows_none_is_a_failure() -> None:
    only = "<nvidia_smi_log><attached_gpus>{}</attached_gpus></nvidia_smi_log>"
    assert parse(only.format(8)).failure is not None
    assert parse(only.format(0)).failure is None
