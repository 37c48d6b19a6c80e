"""A plan that updates the BIOS first is judged by the registry of the BIOS that it leads to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.failures.test_firmware import add_images, image, pin_firmware
from tests.operations.redfish.site import LabSite, lab_site

from metalwright.cli.app import run

NEW = "metalwright/lab-vm-2.0.0"


@dataclass
class Desk:
    """A site whose node has BIOS 1.0.0, and whose blueprint wants 2.0 and attributes of registry 2.0.0."""

    site: LabSite
    capsys: pytest.CaptureFixture[str]

    def keep_registry(self, *names: str) -> None:
        """Store a registry for BIOS 2.0.0 that has these attributes besides the boot mode."""
        folder = self.site.root / "blueprints/registries/metalwright"
        document = json.loads((folder / "lab-vm-1.0.0.json").read_text())
        document |= {"Id": "BiosAttributeRegistryLab.2.0.0", "RegistryVersion": "2.0.0"}
        entries = document["RegistryEntries"]
        known = {"BootMode", *names}
        template = next(item for item in entries["Attributes"] if item["AttributeName"] == "SriovGlobalEnable")
        new = [{**template, "AttributeName": name} for name in names if name.startswith("New")]
        entries["Attributes"] = [item for item in entries["Attributes"] if item["AttributeName"] in known] + new
        entries["Dependencies"] = []
        (folder / "lab-vm-2.0.0.json").write_text(json.dumps(document))

    def plan(self) -> tuple[list[tuple[str, str]], list[str]]:
        """What ``plan lab-1`` changes in firmware and BIOS (from, to), and what it says of the BIOS otherwise."""
        assert run(["plan", "lab-1", "--json"]) == 0
        (node,) = json.loads(self.capsys.readouterr().out)["nodes"]
        changes = [item for item in node["changes"] if item["phase"] in ("firmware", "bios")]
        said = [text for text in (*node["refusals"], *node["unknown"]) if text.startswith("bios:")]
        assert self.site.writes("lab-1") == []
        return [(item["from"], item["to"]) for item in changes], said


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    root = tmp_path / "site"
    with lab_site(root, 1, 1, prefix="127.118") as site:
        pin_firmware(root, '{bios: ">=2.0"}', "[]")
        add_images(root, image("bios", "2.0.0", more=", activation: host-reset"))
        path = root / "blueprints/lab-vm/1.0.0.yaml"
        lines = path.read_text().splitlines()
        start = next(number for number, line in enumerate(lines) if line.startswith("bios:"))
        end = next(number for number in range(start + 1, len(lines)) if lines[number][:1] not in (" ", ""))
        lines[start:end] = ["bios:", f"  registry: {NEW}", "  attributes: {NewInTwo: Enabled}"]
        path.write_text("\n".join(lines) + "\n")
        monkeypatch.chdir(root)
        for name, value in site.environment.items():
            monkeypatch.setenv(name, value)
        assert run(["addresses", "allocate"]) == 0
        capsys.readouterr()
        yield Desk(site, capsys)


def test_without_the_registry_of_the_new_version_the_attributes_need_a_second_plan(desk: Desk) -> None:
    changes, said = desk.plan()
    assert changes == [("1.0.0", "2.0.0")]
    assert "the BIOS is updated first (1.0.0 → >=2.0): its attributes need a second plan" in said[0]


def test_the_registry_of_the_new_version_judges_what_the_present_one_does_not_know(desk: Desk) -> None:
    desk.keep_registry("NewInTwo")
    changes, said = desk.plan()
    assert said == []
    assert changes == [("1.0.0", "2.0.0"), ("unknown", "Enabled")]


def test_an_attribute_that_the_new_version_no_longer_has_is_refused(desk: Desk) -> None:
    desk.keep_registry("SriovGlobalEnable")
    changes, said = desk.plan()
    assert changes == [("1.0.0", "2.0.0")]
    assert said == [
        "bios: 1 BIOS attribute(s) are refused by BiosAttributeRegistryLab.2.0.0 (NewInTwo: unknown attribute)"
    ]
