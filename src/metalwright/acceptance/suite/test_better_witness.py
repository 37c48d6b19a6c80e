"""What the BMC did not tell, told by the firmware's own table and by the GPU driver; only where it was asked."""

from __future__ import annotations

from typing import Any

import pytest
from testinfra.host import Host

from metalwright.acceptance.readings import DRIVER_GPUS, driver_gpus
from metalwright.acceptance.smbios import READ_TABLE, Smbios, read_table
from metalwright.matching.names import is_any_model, is_gpu, is_same_maker

SUM_TOLERANCE = 0.005
"""Modules add up exactly; what is written as the total may be rounded."""


@pytest.fixture(scope="session")
def smbios(host: Host) -> Smbios:
    """The firmware's table; asked once."""
    return table_of(host)


def table_of(host: Host) -> Smbios:
    """The table as root reads it; a skip (NOT-RUN) where the firmware left none."""
    found = host.run(READ_TABLE)
    if found.rc != 0:
        pytest.skip("the firmware left no SMBIOS table")
    return read_table(found.stdout)


def test_product(smbios: Smbios, check: dict[str, Any], unknown: Any) -> None:
    if smbios.manufacturer is None or smbios.product is None:
        unknown("the SMBIOS table names no maker or no product")
    assert is_same_maker(check["manufacturer"], str(smbios.manufacturer)), smbios.manufacturer
    assert is_any_model(check["models"], smbios.product), smbios.product


def test_cpu_model(smbios: Smbios, check: dict[str, Any], unknown: Any) -> None:
    if len(smbios.processors) < check["count"]:
        unknown(f"the SMBIOS table names {len(smbios.processors)} of {check['count']} processors")
    assert all(is_any_model(check["models"], name) for name in smbios.processors), smbios.processors


def test_dimms(smbios: Smbios, check: dict[str, Any], unknown: Any) -> None:
    sizes_gib = [module.size_gib for module in smbios.modules]
    if not sizes_gib or None in sizes_gib:
        unknown("the SMBIOS table does not tell the size of every module")
    shown = ", ".join(f"{module.slot}: {module.size_gib:g} GiB" for module in smbios.modules)
    if check["dimms"] is not None:
        assert len(sizes_gib) == check["dimms"], shown
    total_gib = sum(size for size in sizes_gib if size is not None)
    assert abs(total_gib - check["total_gib"]) <= SUM_TOLERANCE * check["total_gib"], shown
    if check["size_gib"] is not None:
        assert set(sizes_gib) == {check["size_gib"]}, shown


def test_gpu_model(host: Host, check: dict[str, Any], unknown: Any) -> None:
    command = DRIVER_GPUS.get(check["vendor"])
    found = host.run(command) if command is not None else None
    if found is None or found.rc != 0:
        unknown(f"no {check['vendor']} driver lists its GPUs")
    gpus = driver_gpus(found.stdout if found is not None else "")
    assert len(gpus) == check["count"], gpus
    for name, memory_gib in gpus:
        assert any(is_gpu(model, name) for model in check["models"]), name
        if check["memory_gib"] is not None:
            assert abs(memory_gib - check["memory_gib"]) <= 0.1 * check["memory_gib"], f"{memory_gib:.0f} GiB"
