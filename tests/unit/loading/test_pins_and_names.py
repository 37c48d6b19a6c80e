"""What names a thing elsewhere names one that can be there: versions, switches, labels, firmware, registries."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import pytest
from tests.unit.loading.conftest import BrokenSite

from metalwright.checking import examine
from metalwright.errors import LoadingError
from metalwright.loading import release

BOX = "blueprints/box/1.0.0.yaml"
RACK = "inventory/racks/r1.yaml"
H100 = "hardware:\n  gpus: {count: 8, vendor: nvidia, model: H100 SXM 80GB}"
STACK = "{vendor: nvidia, driver: 580.95.05, fabric_manager: true, container_toolkit: 1.18.0, dcgm: 4.4.1}"


def found(site: BrokenSite, what: str, *, of: str = "errors") -> LoadingError:
    """The one finding with these words; it stands in the blueprint, at a line."""
    reading = examine(site.root, date(2026, 11, 1))
    listed: tuple[LoadingError, ...] = getattr(reading, of)
    (error,) = [error for error in listed if what in error.what]
    assert f"{BOX}:" in error.where
    return error


def is_silent(site: BrokenSite, *words: str) -> bool:
    reading = examine(site.root, date(2026, 11, 1))
    everything = (*reading.errors, *reading.warnings, *reading.notes)
    return not any(word in error.what for error in everything for word in words)


@pytest.mark.parametrize(
    ("right", "wrong", "loc"),
    [
        ("driver: 580.95.05", "driver: 580", "software.accelerator.driver"),
        ("driver: 580.95.05", "driver: 580.95", "software.accelerator.driver"),
        ("container_toolkit: 1.18.0", "container_toolkit: 1.18", "software.accelerator.container_toolkit"),
        ("dcgm: 4.4.1", "dcgm: '1:4.4'", "software.accelerator.dcgm"),
        ("version: 1.7.28", "version: 1.7", "software.container_runtime.version"),
        ("version: 1.7.28", "version: 1.7.x", "software.container_runtime.version"),
        ("node_exporter: 1.9.1", "node_exporter: '1'", "software.agents.node_exporter"),
        ("dcgm_exporter: 4.2.0", "dcgm_exporter: '4.2'", "software.agents.dcgm_exporter"),
    ],
)
def test_a_branch_is_no_version(site: BrokenSite, right: str, wrong: str, loc: str) -> None:
    agents = "{node_exporter: 1.9.1, dcgm_exporter: 4.2.0, disk_metrics: 0+git20230110.8eeeffb}"
    software = (
        f"software:\n  accelerator: {STACK}\n  container_runtime: {{name: containerd, version: 1.7.28}}\n"
        f"  agents: {agents}\n"
    )
    site.edit(BOX, "hardware:", software + H100)
    assert is_silent(site, "names a branch")
    site.edit(BOX, right, wrong)
    error = found(site, "names a branch")
    assert error.what.startswith(loc)
    assert "exact version such as" in (error.expected or "")
    assert "apt-cache madison" in (error.hint or "")


def test_cables_lead_to_switches_of_the_site(site: BrokenSite) -> None:
    site.edit(BOX, "image:", "cabling: [{port: host-0, to: leaf-2:Ethernet1/5}]\nimage:")
    assert "no rack of the site names its switches" in found(site, "cabling of box@1.0.0 not judged", of="notes").what
    site.edit(RACK, "nodes:", "switches: [{name: leaf-2, role: leaf}]\nnodes:")
    assert is_silent(site, "cabling", "plugged into")
    site.edit(BOX, "to: leaf-2:", "to: LEAF-2.example.net:")
    assert is_silent(site, "plugged into"), "as LLDP's names are compared: without domain, in any case"
    site.edit(BOX, "to: LEAF-2.example.net:", "to: leaf-2:")
    site.edit(BOX, "to: leaf-2", "to: laef-2")
    error = found(site, "the port host-0 is plugged into a switch that no rack of the site has")
    assert (error.found, f"{BOX}:15:" in error.where) == ("laef-2", True)
    assert error.hint == "did you mean 'leaf-2'?"
    site.edit(RACK, "box@1.0.0}\n  - {name: n2", "box@1.0.0, state: retired}\n  - {name: n2")
    site.edit(RACK, "box@1.0.0}\n", "box@1.0.0, state: retired}\n")
    assert is_silent(site, "plugged into"), "no node stands on it: it may be for another site"


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("tier: training", None),
        ("node.example.org/tier: a.b_c-1", None),
        ("empty: ''", None),
        ("bad key!: x", "no such label"),
        ("/tier: x", "no such label"),
        ("Example.org/tier: x", "no such label"),
        ("a/b/c: x", "no such label"),
        ("-tier: x", "no such label"),
        (f"{'k' * 64}: x", "no such label"),
        ("example.net/rack: x", "labels under example.net/ are metalwright's own"),
        ("tier: two words", "no such value of the label tier"),
        (f"tier: {'v' * 64}", "no such value of the label tier"),
    ],
)
def test_labels_are_what_kubernetes_takes(site: BrokenSite, label: str, what: str | None) -> None:
    site.edit(BOX, "image:", f"policy:\n  labels:\n    {label}\nimage:")
    if what is None:
        assert is_silent(site, "label")
        return
    error = found(site, what)
    assert f"{BOX}:17:" in error.where
    assert error.expected


def test_a_label_that_is_not_taken_comes_with_one_that_is(site: BrokenSite) -> None:
    site.edit(BOX, "image:", "policy: {labels: {bad key!: x}}\nimage:")
    assert found(site, "no such label").hint == "such as bad-key"


@pytest.mark.parametrize(
    ("wrong", "near"), [("bmcc", "bmc"), ("bois", "bios"), ("nvswitchs", "nvswitch"), ("gpus", "gpu")]
)
def test_a_firmware_component_that_is_misspelt_is_refused_with_the_one_that_is_meant(
    site: BrokenSite, wrong: str, near: str
) -> None:
    site.edit(BOX, "image:", f"firmware: {{{near}: '>=1.0', {wrong}: '>=1.0'}}\nimage:")
    error = found(site, f"no maker's inventory is known to have a component {wrong}")
    assert error.hint == f"did you mean {near!r}?"


def test_a_firmware_component_that_only_one_machine_may_have_is_a_warning(site: BrokenSite) -> None:
    site.edit(BOX, "image:", "firmware: {bmc: '>=1.0', gpu: '>=1', main-mcu: '>=1.0'}\nimage:")
    warning = found(site, "unknown: whether a BMC has a component main-mcu", of="warnings")
    assert "inspect NODE --json" in (warning.hint or "")
    image = f"component: main-mcu, version: 1.0, url: https://x.example/f, file_sha256: {'1' * 64}"
    site.write("firmware/x.yaml", f"schema: 1\nmodels: [X]\nimages: [{{{image}}}]\n")
    assert is_silent(site, "component"), "the site has approved images for it"


def test_a_downgrade_of_what_no_constraint_names_is_refused(site: BrokenSite) -> None:
    site.edit(BOX, "image:", "firmware: {bmc: '>=1.0'}\nfirmware_downgrades: [bmc]\nimage:")
    assert is_silent(site, "downgrade")
    site.edit(BOX, "downgrades: [bmc]", "downgrades: [bios]")
    assert found(site, "a downgrade of bios is allowed").expected == "one of bmc"


def test_attributes_that_nothing_judges_are_a_note_until_their_registry_is_there(site: BrokenSite) -> None:
    site.edit(BOX, "image:", "bios: {registry: metalwright/lab-vm-1.0.0, attributes: {SysProfile: x}}\nimage:")
    note = found(site, "1 BIOS attribute of box@1.0.0 not judged", of="notes")
    assert note.hint == "metalwright bios registry pull n1, on a node with this BIOS version"
    reading = examine(site.root, date(2026, 11, 1))
    assert (reading.errors, reading.repository is not None) == ((), True)
    registry = site.root / "blueprints/registries/metalwright/lab-vm-1.0.0.json"
    registry.parent.mkdir(parents=True)
    shutil.copy(Path(__file__).parents[3] / registry.relative_to(site.root), registry)
    assert is_silent(site, "not judged")
    assert "SysProfile" in found(site, "this BIOS would refuse it").what


def test_a_server_draws_no_more_than_its_power_supplies_deliver(site: BrokenSite) -> None:
    site.edit(BOX, "power:", "  psus: {count: 2, watts: 500}\npower:")
    assert is_silent(site, "power supplies")
    site.edit(BOX, "max_w: 1000", "max_w: 1001")
    error = found(site, "the server would draw more than its power supplies deliver")
    assert (error.expected, error.found) == ("at most 1000 W (2 × 500 W in hardware.psus)", "1001 W")


def test_a_released_blueprint_that_no_node_uses_is_left_in_peace(site: BrokenSite) -> None:
    text = (site.root / BOX).read_text().replace("name: box", "name: old")
    bios = "bios: {registry: m/x-1, attributes: {A: x}}\nimage:"
    site.write("blueprints/old/1.0.0.yaml", text.replace("image:", bios, 1))
    notes = examine(site.root, date(2026, 11, 1)).notes
    assert [note.hint for note in notes] == ["metalwright bios registry pull NODE, on a node with this BIOS version"]
    release(site.root, ["old@1.0.0"])
    assert examine(site.root, date(2026, 11, 1)).notes == ()
