"""A GPU is well only when its driver says so of every one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accelerators.texts import text
from tests.desired import blueprint
from tests.nvidia_text import GPUS, nvidia_smi

from metalwright.accelerators import nvidia_smi as driver
from metalwright.acceptance.gpu_health import (
    RAS,
    READERS,
    XID,
    UnknownError,
    gpu_checks,
    gpu_fault,
    kernel_log_fault,
    ras_fault,
)
from metalwright.loading import load_model
from metalwright.model.blueprint import Blueprint

ROOT = Path(__file__).resolve().parents[3]
GPU_BLUEPRINT: dict[str, Any] = {
    "hardware": blueprint().hardware.to_json()
    | {"gpus": {"count": GPUS, "vendor": "nvidia", "model": "H100 SXM 80GB", "pcie_generation": 5, "pcie_lanes": 16}},
    "software": {"accelerator": {"vendor": "nvidia", "driver": "580.95.05", "fabric_manager": True}},
    "policy": {"mig": "disabled", "power_cap_w": 700},
}
CHECKS = {check["id"]: check for check in gpu_checks(blueprint(**GPU_BLUEPRINT)) if check["id"] != XID}


def faults(text: str) -> dict[str, str]:
    found = {}
    for name, check in CHECKS.items():
        try:
            fault = gpu_fault(check, driver.parse(text))
        except UnknownError as error:
            fault = f"unknown: {error}"
        if fault is not None:
            found[name] = fault
    return found


def test_the_checks_follow_from_the_blueprint() -> None:
    assert set(CHECKS) == {"count", "driver", "memory", "ecc", "link", "clocks", "fabric", "mig", "power_cap"}
    assert gpu_checks(blueprint()) == []
    plain = blueprint(**GPU_BLUEPRINT | {"policy": {}, "software": {"accelerator": {"vendor": "amd", "driver": "6.4"}}})
    assert not {"fabric", "mig", "power_cap"} & {check["id"] for check in gpu_checks(plain)}


@pytest.mark.parametrize(
    ("name", "tool"), [("gpu-mi300x-8x", "rocm-smi-mi300x"), ("gpu-h100-8x", "nvidia-smi-h100-8x")]
)
def test_a_good_node_of_every_maker_can_pass_all_that_its_blueprint_asks(name: str, tool: str) -> None:
    wanted = load_model(ROOT / f"blueprints/{name}/1.0.0.yaml", Blueprint, root=ROOT).model
    assert wanted.hardware.gpus is not None
    reading = READERS[wanted.hardware.gpus.vendor][1](text(tool))
    judged = [check for check in gpu_checks(wanted) if check["id"] not in (XID, RAS)]
    assert len(judged) >= 2
    assert [gpu_fault(check, reading) for check in judged] == [None] * len(judged)


def test_the_link_of_an_amd_gpu_is_compared_with_what_is_declared() -> None:
    reading = READERS["amd"][1](text("rocm-smi-mi300x"))
    link = {"id": "link", "vendor": "amd", "count": 8, "lanes": 16, "generation": 5}
    assert gpu_fault(link, reading) is None
    assert "fewer PCIe lanes than 32" in str(gpu_fault(link | {"lanes": 32}, reading))
    assert "less than PCIe generation 6" in str(gpu_fault(link | {"generation": 6}, reading))


def test_amd_memory_errors_are_those_that_the_driver_counts_for_every_gpu() -> None:
    counts = "".join(f"/sys/class/drm/card{card}/device/ras/umc_err_count:ue: 0\n" for card in range(8))
    assert ras_fault(counts, 8) is None
    assert ras_fault(
        counts.replace("card3/device/ras/umc_err_count:ue: 0", "card3/device/ras/umc_err_count:ue: 2"), 8
    ) == ("uncorrected memory errors since the driver started: card3: 2")
    for few in ("", counts.partition("card7")[0]):
        with pytest.raises(UnknownError, match="of 8 GPUs"):
            ras_fault(few, 8)


def test_eight_healthy_gpus_have_no_fault() -> None:
    assert faults(nvidia_smi()) == {}


@pytest.mark.parametrize(
    ("changes", "check", "said"),
    [
        ({"pending": "Yes"}, "memory", "restart the node"),
        ({"failure": "Yes"}, "memory", "reject the GPU"),
        ({"uncorrected": 2}, "memory", "uncorrected memory errors"),
        ({"lanes": "8x"}, "link", "fewer PCIe lanes than 16"),
        ({"generation": 4}, "link", "less than PCIe generation 5"),
        ({"slow": "Active"}, "clocks", "hw_thermal_slowdown"),
        ({"ecc": "Disabled"}, "ecc", "ECC is not on"),
        ({"ecc_pending": "Disabled"}, "ecc", "ECC is not on"),
        ({"mig_pending": "Enabled"}, "mig", "MIG is not off"),
        ({"fabric": "In Progress"}, "fabric", "In Progress/Success"),
        ({"cap": "650.00 W"}, "power_cap", "not 700 W"),
        ({"ecc": "[Unknown Error]", "ecc_pending": ""}, "ecc", "unknown: a GPU does not tell its ECC mode"),
        ({"mig": "ERR!", "mig_pending": ""}, "mig", "unknown: a GPU does not tell its MIG mode"),
        ({"mig": "N/A", "mig_pending": ""}, "mig", "unknown: a GPU does not tell its MIG mode"),
        ({"mig": "Disabled", "mig_pending": ""}, "mig", "MIG is not off"),
        ({"lanes": "N/A"}, "link", "unknown: a GPU does not tell the lanes"),
        ({"cap": "N/A"}, "power_cap", "unknown: a GPU does not tell its power cap"),
        ({"pending": "N/A", "failure": "N/A"}, "memory", "unknown: 1 GPUs tell nothing"),
        ({"failure": "N/A"}, "memory", "unknown: a GPU does not tell whether a row remap failed"),
        ({"slow": "N/A"}, "clocks", "unknown: nvidia-smi does not tell for every GPU"),
    ],
)
def test_one_gpu_that_is_not_well_is_found_and_named(changes: dict[str, Any], check: str, said: str) -> None:
    found = faults(nvidia_smi(**changes))
    assert list(found) == [check]
    assert said in found[check]
    assert said.startswith("unknown") or found[check].startswith("0000:03:00.0: ")


@pytest.mark.parametrize(
    ("check", "wanted", "said"),
    [
        ("ecc", None, None),
        ("ecc", True, "0000:03:00.0: ECC is not on"),
        ("ecc", False, None),
        ("mig", False, None),
        ("mig", True, "a GPU has no MIG mode"),
    ],
)
def test_a_gpu_that_says_it_has_no_such_mode_has_it_off(check: str, wanted: bool | None, said: str | None) -> None:
    changes: dict[str, Any] = {check: "N/A", f"{check}_pending": "N/A"}
    reading = driver.parse(nvidia_smi(**changes))
    others = reading.model_copy(update={"gpus": tuple(gpu for gpu in reading.gpus if getattr(gpu, check).is_absent)})
    judged = CHECKS[check] | {"wanted": wanted, "count": 1}
    fault = gpu_fault(judged, others)
    assert fault is None if said is None else said in str(fault)


@pytest.mark.parametrize("mode", ["ecc", "mig"])
@pytest.mark.parametrize("wanted", [True, False])
def test_a_driver_without_a_word_of_a_mode_is_unknown(mode: str, wanted: bool) -> None:
    """Another release of the tool may name the element otherwise: silence is not `has none`."""
    with pytest.raises(UnknownError, match=f"does not tell its {mode.upper()} mode"):
        gpu_fault(CHECKS[mode] | {"wanted": wanted}, driver.parse(nvidia_smi().replace(f"{mode}_mode", "mode")))


def test_a_gpu_with_ecc_that_counts_no_errors_is_unknown() -> None:
    """Drivers move these elements: what is not found is not zero."""
    text = nvidia_smi().replace("_uncorrectable", "_unrecoverable")
    assert faults(text) == {"memory": f"unknown: {GPUS} GPUs with ECC on do not count their memory errors"}


def test_another_driver_than_the_pinned_one_is_said() -> None:
    assert faults(nvidia_smi(driver="575.57.08")) == {
        "driver": "driver 575.57.08 is loaded, the blueprint pins 580.95.05"
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (nvidia_smi(gpus=7), "nvidia-smi lists 7 of 8 GPUs"),
        ("", "nvidia-smi says: nothing (no-answer)"),
        ("Failed to initialize NVML: Driver/library version mismatch", "driver-library-mismatch"),
        (nvidia_smi()[:900], "nvidia-smi says: "),
    ],
)
def test_without_all_gpus_no_check_passes(text: str, said: str) -> None:
    found = faults(text)
    assert found.keys() == CHECKS.keys()
    assert all(said in fault for fault in found.values())


@given(st.integers(0, len(nvidia_smi())))
def test_no_part_of_an_answer_passes(length: int) -> None:
    if length < len(nvidia_smi()) - len("</nvidia_smi_log>"):
        assert faults(nvidia_smi()[:length]).keys() == CHECKS.keys()


def test_gpu_errors_in_the_kernel_log_are_named_with_what_to_do() -> None:
    log = "kernel: NVRM: Xid (PCI:0000:4f:00): 79, pid=1, GPU has fallen off the bus.\n"
    fault = kernel_log_fault(f"kernel: Linux version 6.1\n{log}")
    assert fault is not None
    assert "Xid 79" in fault
    assert "do: " in fault
    assert kernel_log_fault("kernel: Linux version 6.1\n") is None
    assert "and 2 more" in str(kernel_log_fault(log * 5))
