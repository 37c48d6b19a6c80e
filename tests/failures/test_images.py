"""Images that are not what they seem, and disks that must be left alone: driven through the real command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.loading.conftest import BrokenSite


@pytest.fixture
def site(tmp_path: Path) -> BrokenSite:
    return BrokenSite(tmp_path)


@pytest.mark.parametrize("choice", ["{name: /dev/sda}", "{path: /dev/disk/by-path/pci-0}", "{}"])
def test_im_01_a_disk_by_the_name_of_the_kernel_is_refused(site: BrokenSite, choice: str) -> None:
    """The system disk is named by serial, WWN or a rule that fits one disk; a kernel name is refused by ``check``."""
    rack = "inventory/racks/r1.yaml"
    site.edit(rack, "{name: n1, unit: 1,", f"{{name: n1, unit: 1, system_disk: {choice},")
    said = " ".join(str(error) for error in site.errors())
    assert "serial, wwn" in said or "needs a serial or a wwn" in said
    assert re.search(r"r1\.yaml:\d+:\d+", said)
    site.edit(rack, f"system_disk: {choice}", "system_disk: {serial: S1}")
    assert site.errors() == ()
