"""YAML → model: text stays text, and every error is told at its place with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.models import parse_model
from metalwright.model.blueprint import BiosProfile, Blueprint, Nics, Software
from metalwright.model.network import Network
from metalwright.model.rack import Node, Rack
from metalwright.model.site import FactoryCredential

ROOT = Path(__file__).parents[3]
PATH = Path("f.yaml")


def errors_of(text: str, model: type) -> tuple[LoadingError, ...]:
    with pytest.raises(InvalidFilesError) as caught:
        parse_model(text, model, PATH)
    return caught.value.errors


@pytest.mark.parametrize("written", ["1.10", "2026.10", "1e3", "0123", "12"])
def test_a_version_stays_as_written(written: str) -> None:
    software = parse_model(f"agents: {{node_exporter: {written}}}", Software, PATH).model
    assert software.agents == {"node_exporter": written}


@pytest.mark.parametrize("written", ["5319E7", "0123", "1_000", "0x1F", "On", "2026-01-01", "12:30:45"])
def test_a_serial_stays_as_written(written: str) -> None:
    text = f"name: a\nserial: {written}\nbmc_mac: 52:54:00:12:34:56\nblueprint: b@1.0.0\n"
    node = parse_model(text, Node, PATH).model
    assert (node.serial, node.bmc_mac) == (written, "52:54:00:12:34:56")


def test_bios_values_stay_as_written() -> None:
    text = "registry: r\nattributes: {WakeOnLan: On, Sriov: no, Speed: 1, Timeout: 010, Flag: true}\n"
    assert parse_model(text, BiosProfile, PATH).model.attributes == {
        "WakeOnLan": "On",
        "Sriov": "no",
        "Speed": "1",
        "Timeout": "010",
        "Flag": "true",
    }


def test_an_unknown_key_is_told_with_the_nearest_one() -> None:
    (error,) = errors_of("role: host\ncount: 2\nspeed_gpbs: 10\n", Nics)
    assert (error.where, error.what) == ("f.yaml:3:1", "unknown key 'speed_gpbs'")
    assert error.hint == "did you mean 'speed_gbps'?"


def test_a_missing_key_is_told_at_the_value_that_lacks_it() -> None:
    (error,) = errors_of("schema: 1\nname: r\nsite: s\nnodes:\n  - unit: 3\n    blueprint: b@1.0.0\n", Rack)[:1]
    assert (error.where, error.what) == ("f.yaml:5:5", "the key 'name' is missing")


@pytest.mark.parametrize("written", ["4095", "0", "4096", "-1", "10a", "010", "1.5", "true", '"10"'])
def test_a_vlan_that_is_none_is_refused_at_its_place(written: str) -> None:
    (error,) = errors_of(f"name: n\npurpose: storage\nvlan: {written}\nprefix: 10.0.0.0/24\n", Network)
    assert error.where == "f.yaml:3:7"
    assert error.expected is not None


@pytest.mark.parametrize(("written", "vlan"), [("1", 1), ("4094", 4094)])
def test_a_vlan_in_range_is_taken(written: str, vlan: int) -> None:
    text = f"name: n\npurpose: storage\nvlan: {written}\nprefix: 10.0.0.0/24\n"
    assert parse_model(text, Network, PATH).model.vlan == vlan


def test_a_truth_value_in_words_is_refused_with_the_right_word() -> None:
    text = (ROOT / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text().replace("secure_boot: false", "secure_boot: no")
    (error,) = errors_of(text, Blueprint)
    assert error.what == "boot.secure_boot has the wrong type"
    assert (error.expected, error.found, error.hint) == ("true or false", "no", "write false")


def test_a_value_out_of_a_list_is_told_with_the_list_once() -> None:
    (error,) = errors_of("name: n\npurpose: storrage\nprefix: 10.0.0.0/24\n", Network)
    assert error.where == "f.yaml:2:10"
    assert error.expected is not None
    assert "'host-management'" in error.expected
    assert "fabric-rail-N" in error.expected
    assert error.hint == "did you mean 'storage'?"


def test_a_password_in_place_of_a_reference_is_never_shown() -> None:
    (error,) = errors_of("user: ADMIN\npassword: hunter2\n", FactoryCredential)
    assert error.where == "f.yaml:2:11"
    assert "hunter2" not in str(error)
    assert "env:NAME" in str(error.expected)


def test_all_errors_of_a_file_are_reported_together() -> None:
    errors = errors_of("rol: host\ncount: many\nlink: fibre\n", Nics)
    assert {error.where for error in errors} == {"f.yaml:1:1", "f.yaml:2:8", "f.yaml:3:7"}


@pytest.mark.parametrize(("written", "found"), [("{a: 1}", "keys with values"), ("leaf", "leaf"), ("", "nothing")])
def test_the_wrong_kind_of_value_is_told_in_words(written: str, found: str) -> None:
    (error,) = errors_of(f"schema: 1\nname: r\nsite: s\nswitches: {written}\n", Rack)
    assert (error.expected, error.found) == ("a list", found)


def test_a_document_of_the_wrong_kind_is_told_in_words() -> None:
    (error,) = errors_of("- 1\n", Rack)
    assert (error.where, error.expected, error.found) == ("f.yaml:1:1", "keys with values", "a list")


@pytest.mark.parametrize("ref", ["gpu-h100-8x/1.0.0", "lab-vm/1.0.0"])
def test_the_example_blueprints_load(ref: str) -> None:
    text = (ROOT / "blueprints" / f"{ref}.yaml").read_text()
    assert parse_model(text, Blueprint, PATH).model.ref == ref.replace("/", "@")
