"""A medium that a host does not boot, seen through a whole run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.simulator.provision.world import Options, world

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]

QUICK_RAMDISK = ("inventory/site.yaml", "ramdisk_boot_minutes: 5", "ramdisk_boot_minutes: 0.3")
INSERT, EJECT = ({"method": "POST", "path": f"VirtualMedia.{name}Media$"} for name in ("Insert", "Eject"))


def test_bv_18_a_boot_from_something_else_is_tried_once_more_and_writes_nothing(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    """Sees that the override was used up and nobody fetched the medium, tries once more, then stops and says so."""
    with world(tmp_path, "127.155", tiny_image, Options(edits=(QUICK_RAMDISK,))) as site:
        site.lab.set_fault("lab-1", "rule", method="POST", path="InsertMedia$", do={"status": 204})
        shown: list[dict[str, Any]] = [
            {"at": "/Inserted", "set": True},
            {"at": "/Image", "set": "http://x/m/y/boot.iso"},
        ]
        for number in (1, 2):
            when = {"after": {**INSERT, "count": number}, "before": {**EJECT, "count": number}}
            site.lab.set_fault("lab-1", "rule", method="GET", path="VirtualMedia/Cd$", when=when, do={"edit": shown})
        code, text = site.provision()
        assert code == 1
        assert "its image was never fetched" in text, text
        asked = [entry.args[0] for entry in site.status(site.machine).log if entry.kind == "ResetRequested"]
        assert asked.count("On") >= 2
        assert site.status(site.machine).power == "Off"
        assert site.boots(site.machine, "cd") == 0
        assert site.is_untouched(site.machine, site.machine.system_disk)
        acts = [event["what"].rpartition(" ")[2] for event in site.journal(site.machine)["events"] if event["is_act"]]
        assert [act for act in acts if act in ("image", "power_off")] == ["image", "power_off", "image"]
