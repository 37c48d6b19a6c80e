"""The compatibility table: which GPU, driver branch and container software is known (compatibility.toml)."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from metalwright.accelerators.data import rows_of
from metalwright.model.base import Frozen
from metalwright.versions import compare

Modules = Literal["open", "proprietary"]
Vendor = Literal["nvidia", "amd"]
_MAKERS = re.compile(r"\b(nvidia|amd|instinct|tesla|tensor core|gpu)\b")


class GpuRow(Frozen):
    """One GPU. ``power_cap_w`` is lowest and highest cap; ``nvswitch_from`` GPUs a board carries an NVSwitch."""

    name: str
    pattern: str
    vendor: Vendor
    architecture: str
    pci_ids: tuple[str, ...]
    modules: Literal["open", "proprietary", "either"]
    driver_min: str
    last_branch: str | None = None
    nvswitch_from: int | None = None
    subnet_manager: bool = False
    has_mig: bool = False
    power_cap_w: tuple[int, int]
    source: str
    is_read: bool

    def has_nvswitch(self, count: int) -> bool:
        """Whether a board with so many of them has an NVSwitch."""
        return self.nvswitch_from is not None and count >= self.nvswitch_from


class DriverRow(Frozen):
    """One branch of drivers. ``ends``: year and month of the end of its support."""

    vendor: Vendor
    branch: str
    modules: tuple[Modules, ...]
    cuda: str | None = None
    fabric_manager: str | None = None
    kernel_tested: str | None = None
    rocm: tuple[str, ...] = ()
    ends: str | None = None
    source: str
    is_read: bool


class ContainerRow(Frozen):
    """The oldest version of a program that can do what is used of it."""

    name: str
    oldest: str
    can: str
    source: str
    is_read: bool


@cache
def gpu_rows() -> tuple[GpuRow, ...]:
    """Every GPU, the more particular patterns first."""
    return tuple(
        GpuRow.model_validate({**row, "last_branch": str(row["last_branch"]) if "last_branch" in row else None})
        for row in rows_of("compatibility", "gpu")
    )


@cache
def driver_rows() -> tuple[DriverRow, ...]:
    """Every branch, oldest first."""
    return tuple(DriverRow.model_validate(row) for row in rows_of("compatibility", "driver"))


@cache
def container_rows() -> dict[str, ContainerRow]:
    """Program → its row."""
    return {row["name"]: ContainerRow.model_validate(row) for row in rows_of("compatibility", "container")}


def find_gpu(vendor: str, model: str) -> GpuRow | None:
    """The row of a model as people write it: ``H100 SXM 80GB``, ``NVIDIA A100-SXM4-40GB``, ``AMD Instinct MI300X``."""
    words = _MAKERS.sub(" ", model.lower().replace("_", " "))
    return next((row for row in gpu_rows() if row.vendor == vendor and re.search(rf"\b{row.pattern}", words)), None)


def find_branch(vendor: str, driver: str) -> DriverRow | None:
    """The row of the branch that a driver version belongs to; AMD's package versions end in the release."""
    release = release_of(vendor, driver)
    rows = [row for row in driver_rows() if row.vendor == vendor]
    return next((row for row in rows if release == row.branch or release.startswith(f"{row.branch}.")), None)


def release_of(vendor: str, driver: str) -> str:
    """The version that the vendor's tables speak of.

    >>> release_of("nvidia", "580.95.05"), release_of("amd", "6.12.12.60401"), release_of("amd", "6.14.14.30100100")
    ('580.95.05', '6.4.1', '30.10.1')
    """
    digits = driver.rpartition(".")[2]
    if vendor != "amd" or not digits.isdecimal() or len(digits) not in (5, 8):
        return driver
    padded = digits.zfill(6) if len(digits) == 5 else digits
    return ".".join(str(int(padded[at : at + 2])) for at in (0, 2, 4))


def modules_for(gpu: GpuRow | None, branch: DriverRow | None) -> Modules | None:
    """Open or proprietary: what the GPU needs; where both work, what the branch installs by default (open from 560).

    ``None``: nothing is known of the GPU.
    """
    if gpu is None:
        return None
    if gpu.modules != "either":
        return gpu.modules
    is_open_the_default = branch is not None and (compare(branch.branch, "560") or 0) >= 0
    return "open" if is_open_the_default else "proprietary"
