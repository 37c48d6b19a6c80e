"""Drivers end installed, held and loaded, or the node says what it waits for; AMD's go the same way as NVIDIA's."""

from __future__ import annotations

from typing import Any

import pytest
from pyinfra.api.exceptions import FactProcessError
from tests.accelerators.texts import text
from tests.operations.in_band.stand_in import commands_of, run_function
from tests.unit.accelerators.test_compatibility import blueprint

from metalwright.accelerators import nvidia_smi, rocm_smi
from metalwright.accelerators.packages import AMD_CDI, NVIDIA_CDI, accelerator_setup
from metalwright.errors import DeployError
from metalwright.facts.accelerator import ContainerDevices, GpuState, KernelModules
from metalwright.facts.apt import PackageFamily
from metalwright.node_files import ACCELERATOR_FILES, accelerator_files, surplus_accelerator_files
from metalwright.operations import gpu_policy as policy
from metalwright.operations.accelerator import driver_loaded, driver_packages
from metalwright.operations.gpu_policy import gpu_policy, gpu_units

RELEASE = "6.1.0-41-amd64"
WELL = {"fault": None, "is_starting": False, "is_enabled": True, "restarts": 0, "active_s": 60.0}


def setup_of(name: str) -> dict[str, Any]:
    setup = accelerator_setup(blueprint(name))
    assert setup is not None
    return setup.to_json()


def modules(**changes: Any) -> dict[str, Any]:
    """An MI300X node on which everything is as it should be."""
    return {
        "running": RELEASE, "boots": RELEASE, "kernels": (RELEASE,), "headers": (RELEASE,), "waits": (),
        "loaded": {"amdgpu": "6.12.12"}, "built": {f"amdgpu {RELEASE}": "6.12.12-2164967.22.04"}, **changes,
    }  # fmt: skip


def installed(**changes: str) -> dict[str, Any]:
    versions = {
        "amdgpu-dkms": "1:6.12.12.60401-2164967.22.04", "rocm-core": "6.4.1.60401-83~22.04",
        "amd-container-toolkit": "1.1.0-1", "rocm-smi-lib": "7.5.0.60401-83~22.04", **changes,
    }  # fmt: skip
    return {name: {"version": version, "is_held": True} for name, version in versions.items()}


def facts(**changes: Any) -> dict[str, Any]:
    return {
        "KernelModules": modules(),
        "InstalledVersions": lambda packages: installed(),
        "PackageCandidates": {},
        "PackageFamily": {"amdgpu-dkms": True},
        "GpuState": rocm_smi.parse(text("rocm-smi-mi300x")),
        "ContainerDevices": {"is_there": True, "missing": ()},
        "ServiceStates": {"metalwright-gpu.service": WELL},
        **changes,
    }


@pytest.mark.parametrize("operation", [driver_packages, driver_loaded, gpu_units, gpu_policy])
def test_a_node_in_order_needs_nothing_and_a_node_without_gpus_neither(operation: Any) -> None:
    assert commands_of(operation, facts(), setup=setup_of("mi300x"))[0] == []
    off = {"ServiceStates": {"metalwright-gpu.service": {**WELL, "is_enabled": False}}}
    commands, why = commands_of(operation, off, setup=None)
    assert commands == []
    assert why in (["the blueprint has no accelerator"], ["the blueprint has no policy for GPUs"])


def test_the_build_for_a_kernel_that_will_boot_is_asked_for_with_its_headers() -> None:
    newer = "6.1.0-43-amd64"
    state = modules(boots=newer, kernels=(RELEASE, newer))
    commands, _ = commands_of(driver_packages, facts(KernelModules=state), setup=setup_of("mi300x"))
    assert commands[1].endswith(f"install linux-headers-{newer}")
    assert commands[-2] == f"dkms autoinstall --kernelver {newer}"
    with pytest.raises(DeployError) as caught:
        run_function(commands[-1], facts(KernelModules=state))
    assert caught.value.expected == f"amdgpu 6.12.12.60401 for {newer}"


def test_an_unheld_member_of_the_family_is_held() -> None:
    commands, _ = commands_of(driver_packages, facts(PackageFamily={"libdrm": False}), setup=setup_of("mi300x"))
    assert len(commands) == 1
    assert "xargs --no-run-if-empty apt-mark hold" in commands[0]
    assert "6[.]12[.]12[.]60401-/" in commands[0]


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"loaded": {"amdgpu": "6.10.5"}}, "amdgpu 6.10.5 is loaded, 6.12.12.60401 is installed"),
        ({"loaded": {"amdgpu": ""}}, "amdgpu of the kernel is loaded, 6.12.12.60401 is installed"),
        ({"boots": "6.1.0-43-amd64"}, f"kernel {RELEASE} runs, 6.1.0-43-amd64 will boot"),
    ],
)
def test_what_only_a_restart_brings_is_asked_for_once_and_nothing_starts_before(
    state: dict[str, Any], reason: str
) -> None:
    found = facts(KernelModules=modules(**state))
    commands, _ = commands_of(driver_loaded, found, setup=setup_of("mi300x"))
    assert len(commands) == 1
    assert f"echo '{reason}' >> /run/metalwright/restart" in commands[0]
    again = facts(KernelModules=modules(**state, waits=(reason,)))
    assert commands_of(driver_loaded, again, setup=setup_of("mi300x")) == ([], [f"waits for a restart: {reason}"])
    assert commands_of(gpu_policy, again, setup=setup_of("mi300x"))[0] == []


def test_a_module_that_is_not_loaded_is_loaded_and_read_back() -> None:
    found = facts(KernelModules=modules(loaded={}))
    commands, _ = commands_of(driver_loaded, found, setup=setup_of("mi300x"))
    assert commands[0].startswith("for m in amdgpu; do modprobe $m")
    with pytest.raises(DeployError, match="amdgpu is not loaded as it was installed"):
        run_function(commands[1], found)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"GpuState": rocm_smi.parse(text("rocm-smi-no-driver"))}, "no-driver"),
        ({"ContainerDevices": {"is_there": False, "missing": ()}}, "is not there"),
        ({"ContainerDevices": {"is_there": True, "missing": ("/usr/lib/old.so",)}}, "/usr/lib/old.so, which is gone"),
    ],
)
def test_a_policy_that_is_not_in_force_is_put_in_force_and_proven(changes: dict[str, Any], told: str) -> None:
    commands, _ = commands_of(gpu_policy, facts(**changes), setup=setup_of("mi300x"))
    assert commands[1] == "systemctl restart metalwright-gpu.service"
    with pytest.raises(DeployError) as caught:
        run_function(commands[-1], facts(**changes))
    assert told in str(caught.value.found)


def test_a_policy_that_the_blueprint_no_longer_has_ends() -> None:
    setup = {**setup_of("mi300x"), "commands": [], "cdi": None, "power_cap_w": None}
    commands, _ = commands_of(gpu_policy, facts(), setup=setup)
    assert commands[0].startswith("systemctl disable --now metalwright-gpu.service && rm -f")
    gone = facts(ServiceStates={"metalwright-gpu.service": {**WELL, "is_enabled": False}})
    assert commands_of(gpu_policy, gone, setup=setup) == ([], ["the blueprint has no policy for GPUs"])


def test_an_accelerator_that_the_blueprint_dropped_leaves_nothing_of_ours() -> None:
    commands, _ = commands_of(gpu_policy, facts(), setup=None)
    assert commands[0].startswith("systemctl disable --now metalwright-gpu.service && rm -f")
    assert surplus_accelerator_files(None) == list(ACCELERATOR_FILES)
    brought = {item.path for name in ("h100", "mi300x") for item in accelerator_files(setup_of(name))}
    assert brought | {NVIDIA_CDI, AMD_CDI} == set(ACCELERATOR_FILES)
    assert set(surplus_accelerator_files(setup_of("h100"))) == {
        "/etc/udev/rules.d/70-metalwright-amdgpu.rules", "/usr/local/bin/rocm-smi", AMD_CDI,
    }  # fmt: skip


def test_a_fabric_that_does_not_come_up_fails_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "FABRIC_S", 0.02)
    monkeypatch.setattr(policy, "POLL_S", 0.01)
    state = modules(loaded={"nvidia": "580.95.05"})
    found = facts(KernelModules=state, GpuState=nvidia_smi.parse(text("nvidia-smi-h100-fabric")))
    commands, _ = commands_of(gpu_policy, found, setup=setup_of("h100"))
    with pytest.raises(DeployError) as caught:
        run_function(commands[-1], found)
    assert "fabric: 0000:3b:00.0: state In Progress" in str(caught.value.found)


def test_facts_take_the_words_of_both_versions_of_dkms() -> None:
    lines = [
        f"running:{RELEASE}", "kernel:6.1.0-9-amd64", f"kernel:{RELEASE}", f"headers:{RELEASE}",
        "loaded:nvidia 580.95.05",
        f"dkms:nvidia/580.95.05, {RELEASE}, x86_64: installed", f"dkms:amdgpu, 6.12.12-1, {RELEASE}, x86_64: installed",
        "dkms:nvidia/575.57.08, 6.1.0-9-amd64, x86_64: built", "waits:because", "modules-end",
    ]  # fmt: skip
    assert KernelModules().process(lines) == {
        "running": RELEASE, "boots": RELEASE, "kernels": ("6.1.0-9-amd64", RELEASE), "headers": (RELEASE,),
        "loaded": {"nvidia": "580.95.05"}, "waits": ("because",),
        "built": {f"nvidia {RELEASE}": "580.95.05", f"amdgpu {RELEASE}": "6.12.12-1"},
    }  # fmt: skip


def test_a_family_is_every_installed_package_of_one_version() -> None:
    lines = [
        "package:hi |libcuda1|580.95.05-1", "package:ii |libnvidia-ml1|580.95.05-1", "package:rc |old|580.95.05-1",
        "package:ii |nvidia-container-toolkit|1.18.0-1", "family:580.95.05",
    ]  # fmt: skip
    assert PackageFamily().process(lines) == {"libcuda1": True, "libnvidia-ml1": False}


@pytest.mark.parametrize("fact", [KernelModules, GpuState, ContainerDevices, PackageFamily])
def test_a_program_that_is_missing_is_no_answer(fact: Any) -> None:
    with pytest.raises(FactProcessError):
        fact().process(["sh: 1: not found"])


def test_gpus_and_devices_are_read_as_the_node_prints_them() -> None:
    printed = [f"gpu:{line}" for line in text("nvidia-smi-h100-8x").splitlines()]
    assert len(GpuState().process([*printed, "gpu-vendor:nvidia"]).gpus) == 8
    assert ContainerDevices().process(["cdi-there", "missing:/a", "cdi-end"]) == {"is_there": True, "missing": ("/a",)}
