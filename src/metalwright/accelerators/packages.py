"""Which packages, units and settings a blueprint's accelerator stack is made of (pure).

Package names are those of the vendors' own repositories for Debian and Ubuntu. Everything that carries the driver's
version is pinned to it, the fabric manager included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from metalwright.accelerators.compatibility import Stack, stack_of
from metalwright.accelerators.table import modules_for
from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint
from metalwright.model.package import PackagePin

POLICY_UNIT = "metalwright-gpu.service"
"""Puts MIG, power cap and the CDI specification in force at every boot."""

NVIDIA_CDI, AMD_CDI = "/var/run/cdi/nvidia.yaml", "/var/run/cdi/amd.json"


class AcceleratorSetup(Frozen):
    """What the deploy makes true, as plain values.

    ``module`` is the kernel module that counts, by its name in DKMS, too; ``version`` its package's. ``rivals`` are
    modules that must not take the GPUs. ``commands`` are what the policy unit runs at each boot, in order; they write
    the specification ``cdi``.
    """

    vendor: str
    module: str
    version: str
    pins: tuple[PackagePin, ...]
    present: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    load: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    cdi: str | None = None
    mig: bool | None = None
    power_cap_w: int | None = None
    has_fabric: bool = False


def accelerator_setup(blueprint: Blueprint) -> AcceleratorSetup | None:
    """The setup of a blueprint that has GPUs and a driver stack, else ``None``."""
    stack = stack_of(blueprint)
    if stack is None:
        return None
    return _nvidia(blueprint, stack) if stack.wanted.vendor == "nvidia" else _amd(blueprint, stack)


def accelerator_data(blueprint: Blueprint) -> dict[str, Any] | None:
    """The same as plain JSON, for host data."""
    setup = accelerator_setup(blueprint)
    return setup.to_json() if setup is not None else None


def accelerator_pins(blueprint: Blueprint) -> tuple[PackagePin, ...]:
    """Every package that must be there at exactly one version."""
    setup = accelerator_setup(blueprint)
    return setup.pins if setup is not None else ()


def packages_beside(blueprint: Blueprint, installed: Iterable[str]) -> tuple[str, ...]:
    """What the stack needs at any version: its tools, and the headers of the kernels that are ``installed``."""
    setup = accelerator_setup(blueprint)
    if setup is None:
        return ()
    kernels = [name.removeprefix("linux-image-") for name in sorted(installed) if name.startswith("linux-image-")]
    return (*setup.present, *(f"linux-headers-{kernel}" for kernel in kernels if kernel[:1].isdigit()))


def _pin(name: str, version: str, unit: str | None = None) -> PackagePin:
    return PackagePin(name=name, version=version, unit=unit)


def _nvidia(blueprint: Blueprint, stack: Stack) -> AcceleratorSetup:
    wanted, policy = stack.wanted, blueprint.policy
    modules = wanted.kernel_modules or modules_for(stack.gpu, stack.branch)
    pins = [
        _pin("nvidia-kernel-open-dkms" if modules == "open" else "nvidia-kernel-dkms", wanted.driver),
        _pin("nvidia-driver-cuda", wanted.driver),
        _pin("nvidia-persistenced", wanted.driver, "nvidia-persistenced.service"),
        *_fabric(stack),
        *_toolkit(stack),
        *_dcgm(stack),
    ]
    has_mig = stack.gpu.has_mig if stack.gpu is not None else policy.mig == "enabled"
    mig = policy.mig == "enabled" if policy.mig is not None and has_mig else None
    commands = []
    if mig is not None:
        commands.append(f"/usr/bin/nvidia-smi --multi-instance-gpu={int(mig)}")
    if policy.power_cap_w is not None:
        commands.append(f"/usr/bin/nvidia-smi --power-limit={policy.power_cap_w}")
    if wanted.container_toolkit is not None:
        commands.append(f"/usr/bin/nvidia-ctk cdi generate --output={NVIDIA_CDI}")
    return AcceleratorSetup(
        vendor="nvidia",
        module="nvidia",
        version=wanted.driver,
        pins=tuple(pins),
        rivals=("nouveau",),
        load=("nvidia", "nvidia-uvm", *(("ib_umad",) if wanted.subnet_manager else ())),
        units=_units(pins, commands),
        commands=tuple(commands),
        cdi=NVIDIA_CDI if wanted.container_toolkit is not None else None,
        mig=mig,
        power_cap_w=policy.power_cap_w,
        has_fabric=wanted.fabric_manager,
    )


def _fabric(stack: Stack) -> list[PackagePin]:
    """The fabric manager at the driver's own version; the subnet manager is started by it."""
    wanted, pins = stack.wanted, []
    if wanted.fabric_manager:
        name = stack.branch.fabric_manager if stack.branch is not None else None
        pins.append(_pin(name or "nvidia-fabricmanager", wanted.driver, "nvidia-fabricmanager.service"))
    if wanted.subnet_manager is not None:
        pins.append(_pin("nvlsm", wanted.subnet_manager))
    return pins


def _toolkit(stack: Stack) -> list[PackagePin]:
    version = stack.wanted.container_toolkit
    if version is None:
        return []
    names = ["nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools"]
    return [_pin(name, version) for name in (*names, "libnvidia-container1")]


def _dcgm(stack: Stack) -> list[PackagePin]:
    """One package until DCGM 3; since DCGM 4 a core, and what was built for a major version of CUDA."""
    version = stack.wanted.dcgm
    if version is None:
        return []
    unit, major = "nvidia-dcgm.service", version.partition(".")[0]
    if not major.isdecimal() or int(major) < 4:
        return [_pin("datacenter-gpu-manager", version, unit)]
    told = stack.wanted.cuda or (stack.branch.cuda if stack.branch is not None else None) or "12"
    cuda = f"datacenter-gpu-manager-{major}-cuda{told.partition('.')[0]}"
    return [_pin(f"datacenter-gpu-manager-{major}-core", version, unit), _pin(cuda, version)]


def _amd(blueprint: Blueprint, stack: Stack) -> AcceleratorSetup:
    wanted, cap = stack.wanted, blueprint.policy.power_cap_w
    pins = [_pin("amdgpu-dkms", wanted.driver)]
    if wanted.rocm is not None:
        pins.append(_pin("rocm-core", wanted.rocm))
    if wanted.container_toolkit is not None:
        pins.append(_pin("amd-container-toolkit", wanted.container_toolkit))
    commands = [f"/opt/rocm/bin/rocm-smi --setpoweroverdrive {cap} --autorespond y"] if cap is not None else []
    if wanted.container_toolkit is not None:
        commands.append(f"/usr/bin/amd-ctk cdi generate --output={AMD_CDI}")
    return AcceleratorSetup(
        vendor="amd",
        module="amdgpu",
        version=wanted.driver,
        pins=tuple(pins),
        present=("rocm-smi-lib",) if wanted.rocm is not None else (),
        load=("amdgpu",),
        units=_units(pins, commands),
        commands=tuple(commands),
        cdi=AMD_CDI if wanted.container_toolkit is not None else None,
        power_cap_w=cap,
    )


def _units(pins: list[PackagePin], commands: list[str]) -> tuple[str, ...]:
    named = [pin.unit for pin in pins if pin.unit is not None]
    return (*named, *((POLICY_UNIT,) if commands else ()))
