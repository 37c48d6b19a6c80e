"""The packages, units and boot commands of each kind of machine."""

from __future__ import annotations

from tests.unit.accelerators.test_compatibility import blueprint

from metalwright.accelerators.packages import (
    AMD_CDI,
    NVIDIA_CDI,
    POLICY_UNIT,
    AcceleratorSetup,
    accelerator_setup,
    packages_beside,
)
from metalwright.model.blueprint import Blueprint


def setup_of(wanted: Blueprint) -> AcceleratorSetup:
    setup = accelerator_setup(wanted)
    assert setup is not None
    return setup


def packages_of(wanted: Blueprint) -> dict[str, str]:
    return {pin.name: pin.version for pin in setup_of(wanted).pins}


def test_a_board_with_switches_gets_the_open_driver_and_the_fabric_manager_at_one_version() -> None:
    wanted = blueprint("h100", dcgm="4.4.1", cuda="12.9")
    assert packages_of(wanted) == {
        "nvidia-kernel-open-dkms": "580.95.05",
        "nvidia-driver-cuda": "580.95.05",
        "nvidia-persistenced": "580.95.05",
        "nvidia-fabricmanager": "580.95.05",
        "nvidia-container-toolkit": "1.18.0",
        "nvidia-container-toolkit-base": "1.18.0",
        "libnvidia-container-tools": "1.18.0",
        "libnvidia-container1": "1.18.0",
        "datacenter-gpu-manager-4-core": "4.4.1",
        "datacenter-gpu-manager-4-cuda12": "4.4.1",
    }
    setup = setup_of(wanted)
    assert setup.units == (
        "nvidia-persistenced.service", "nvidia-fabricmanager.service", "nvidia-dcgm.service", POLICY_UNIT
    )  # fmt: skip
    assert setup.commands == (
        "/usr/bin/nvidia-smi --multi-instance-gpu=0",
        "/usr/bin/nvidia-smi --power-limit=700",
        f"/usr/bin/nvidia-ctk cdi generate --output={NVIDIA_CDI}",
    )
    assert (setup.mig, setup.power_cap_w, setup.has_fabric, setup.rivals) == (False, 700, True, ("nouveau",))


def test_older_gpus_get_the_proprietary_driver_and_no_fabric_manager() -> None:
    packages = packages_of(blueprint("v100"))
    assert packages["nvidia-kernel-dkms"] == "580.95.05"
    assert not any("fabric" in name or "open" in name for name in packages)
    assert setup_of(blueprint("v100", policy__mig="disabled")).mig is None


def test_an_older_branch_names_its_packages_after_itself() -> None:
    packages = packages_of(blueprint("h100", driver="550.163.01", dcgm="3.3.9"))
    assert {"nvidia-fabricmanager-550", "nvidia-kernel-dkms", "datacenter-gpu-manager"} <= set(packages)


def test_newer_boards_get_the_subnet_manager_and_its_module() -> None:
    wanted = blueprint("h100", gpus__model="B200 SXM", subnet_manager="2025.06.11")
    assert packages_of(wanted)["nvlsm"] == "2025.06.11"
    assert setup_of(wanted).load == ("nvidia", "nvidia-uvm", "ib_umad")


def test_amd_s_machines_get_amd_s_stack() -> None:
    setup = setup_of(blueprint("mi300x"))
    assert {pin.name: pin.version for pin in setup.pins} == {
        "amdgpu-dkms": "6.12.12.60401",
        "rocm-core": "6.4.1.60401",
        "amd-container-toolkit": "1.1.0",
    }
    assert setup.commands == (
        "/opt/rocm/bin/rocm-smi --setpoweroverdrive 750 --autorespond y",
        f"/usr/bin/amd-ctk cdi generate --output={AMD_CDI}",
    )
    assert (setup.module, setup.rivals, setup.load, setup.units) == ("amdgpu", (), ("amdgpu",), (POLICY_UNIT,))


def test_a_mirror_has_the_tools_and_the_headers_of_the_image_s_kernels_too() -> None:
    image = ("linux-image-amd64", "linux-image-6.1.0-41-amd64", "chrony")
    assert packages_beside(blueprint("mi300x"), image) == ("rocm-smi-lib", "linux-headers-6.1.0-41-amd64")
    assert packages_beside(blueprint("h100"), ()) == ()


def test_a_machine_without_a_stack_has_no_setup() -> None:
    wanted = blueprint("h100")
    bare = wanted.model_copy(update={"software": wanted.software.model_copy(update={"accelerator": None})})
    assert accelerator_setup(bare) is None
