"""``metalwright bios`` on a simulated machine: what it shows, keeps and explains, and a profile's way round."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite, lab_site

from metalwright.bios import compile_plan, find_problems
from metalwright.cli.app import run
from metalwright.loading.repository import load_site
from metalwright.model.blueprint import BiosProfile
from metalwright.registries import stored_registry


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabSite]:
    """One machine with attributes of its own."""
    changes = {"SysProfile": "Performance", "BootTimeout": 9, "AssetTag": "rack on 3", "QuietBoot": True}
    root = tmp_path_factory.mktemp("bios-commands") / "site"
    with lab_site(root, 1, 3, prefix="127.95", bios_attributes=changes) as made:
        made.machines["lab-1"].system.state.bios_pending["NumaNodesPerSocket"] = "2"
        yield made


def ask(lab: LabSite, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FACTORY_PASSWORD", FACTORY_PASSWORD)
        assert run(["--site", str(lab.root), "bios", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_show_tells_value_default_and_what_waits(lab: LabSite, capsys: pytest.CaptureFixture[str]) -> None:
    text = ask(lab, capsys, "show", "lab-1")
    assert "SysProfile = Performance   (default Balanced)" in text
    assert "NumaNodesPerSocket = 1   (waits: 2)" in text
    assert "SystemBiosVersion = 1.0.0   (read-only)" in text
    data = json.loads(ask(lab, capsys, "show", "lab-1", "--json"))
    assert (data["schema"], data["node"], data["bios_version"]) == (1, "lab-1", "1.0.0")
    row = next(item for item in data["attributes"] if item["name"] == "BootTimeout")
    assert (row["value"], row["default"], row["pending"]) == ("9", "5", None)


def test_the_profile_of_a_golden_machine_is_a_valid_section_that_changes_nothing_there(
    lab: LabSite, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ask(lab, capsys, "show", "lab-1", "--as-blueprint")
    path = lab.root / "blueprints/golden/1.0.0.yaml"
    path.parent.mkdir()
    base = (lab.root / "blueprints/lab-vm/1.0.0.yaml").read_text().replace("name: lab-vm", "name: golden", 1)
    path.write_text(base[: base.index("bios:\n")] + text + base[base.index("\nboot:") :])
    assert run(["--site", str(lab.root), "check"]) == 0, capsys.readouterr().err
    blueprint = load_site(lab.root).blueprints["golden@1.0.0"]
    assert isinstance(blueprint.bios, BiosProfile)
    assert blueprint.bios.attributes == {"BootTimeout": "9", "QuietBoot": "true", "SysProfile": "Performance"}
    registry = stored_registry(lab.root, "metalwright/lab-vm-1.0.0")
    assert registry is not None
    current = lab.machines["lab-1"].system.state.bios
    assert compile_plan(registry, blueprint.bios.attributes, current).lines == ()
    assert "    AssetTag: 'rack on 3'" in ask(lab, capsys, "show", "lab-1", "--as-blueprint", "--all")


def test_a_pulled_registry_has_stable_bytes_and_judges_blueprints(
    lab: LabSite, capsys: pytest.CaptureFixture[str]
) -> None:
    known = lab.root / "blueprints/registries/metalwright/lab-vm-1.0.0.json"
    known.unlink()
    assert "metalwright/lab-vm-1.0.0: written" in ask(lab, capsys, "registry", "pull", "lab-1")
    assert "unchanged" in ask(lab, capsys, "registry", "pull", "lab-1")
    registry = stored_registry(lab.root, "metalwright/lab-vm-1.0.0")
    assert registry is not None
    assert [str(item) for item in find_problems(registry, {"BootTimeout": 99})] == [
        "BootTimeout: takes 0 to 60, not 99"
    ]
    assert "metalwright/lab-vm-1.0.0: 15 attributes, 1 dependencies" in ask(lab, capsys, "registry", "list")


def test_an_attribute_is_explained_and_a_mistyped_one_is_compared(
    lab: LabSite, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ask(lab, capsys, "registry", "show", "User Defined Delay")
    assert "takes:    30 to 600, in steps of 10" in text
    assert "depends:  is read-only while AcPwrRcvryDelay is not User" in text
    assert "did you mean 'QuietBoot'?" in ask(lab, capsys, "registry", "show", "QuietBot", code=64)


def test_a_blueprint_that_the_stored_registry_refuses_is_named_by_line(
    lab: LabSite, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lab.root / "blueprints/bad/1.0.0.yaml"
    path.parent.mkdir()
    text = (lab.root / "blueprints/lab-vm/1.0.0.yaml").read_text().replace("name: lab-vm", "name: bad", 1)
    path.write_text(text.replace("SysProfile: Performance", "SysProfile: performance"))
    line = path.read_text().splitlines().index("    SysProfile: performance") + 1
    assert run(["--site", str(lab.root), "check"]) == 2
    said = capsys.readouterr()
    assert f"blueprints/bad/1.0.0.yaml:{line}:" in said.err + said.out
    assert "did you mean 'Performance'?" in said.err + said.out


def test_bi_16_a_password_is_never_shown(lab: LabSite, capsys: pytest.CaptureFixture[str]) -> None:
    """Shows no password in any form of `bios show`, whether the registry knows the attribute or not."""
    values = {"SetupPassword": "hunter2", "Odd": {"a": 1}, "Nul": None}
    faults = lab.machines["lab-1"].system.faults
    faults.rule("GET", "Systems/1/Bios$", edit=[{"at": "/Attributes", "merge": values}])
    for options in ((), ("--json",), ("--as-blueprint", "--all")):
        text = ask(lab, capsys, "show", "lab-1", *options)
        assert "hunter2" not in text
        assert "BootTimeout" in text
    faults.clear()
