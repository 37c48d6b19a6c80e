"""Registries as files, and profiles from a golden machine: stable bytes, nothing of one machine, and they hold."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.unit.bios.test_captured_registries import _bodies, _captures

from metalwright.bios import compile_plan, find_problems, parse_registry
from metalwright.bios.normalise import normalise, registry_name
from metalwright.bios.profile import golden_profile
from metalwright.bios.wording import attribute_lines

BODY: dict[str, Any] = {
    "Id": "R.1",
    "@odata.etag": "changes",
    "RegistryEntries": {
        "Attributes": [
            {"AttributeName": "B", "Type": "Integer", "DefaultValue": 5, "CurrentValue": 7, "UpperBound": 9},
            {"AttributeName": "A", "Type": "Enumeration", "Value": [{"ValueName": "x"}, {"ValueName": "y"}]},
            {"AttributeName": "C", "Type": "Boolean", "DefaultValue": True, "ReadOnly": True, "HelpText": "Say  it."},
            {"AttributeName": "D", "Type": "String", "DefaultValue": "", "Readonly": True},
            {"AttributeName": "Pw", "Type": "Password", "DefaultValue": "secret-one", "CurrentValue": "secret-two"},
            {"AttributeName": "Tag", "Type": "String", "DefaultValue": "", "IsSystemUniqueProperty": True},
        ],
        "Dependencies": [
            {
                "Type": "Map",
                "Dependency": {
                    "MapFrom": [{"MapFromAttribute": "A", "MapFromCondition": "EQU", "MapFromValue": "x"}],
                    "MapToAttribute": "C",
                    "MapToProperty": "ReadOnly",
                    "MapToValue": True,
                },
            }
        ],
    },
}


def test_the_file_is_the_same_from_every_machine_and_holds_nothing_of_one() -> None:
    other = json.loads(json.dumps(BODY))
    random.Random(1).shuffle(other["RegistryEntries"]["Attributes"])
    for item in other["RegistryEntries"]["Attributes"]:
        item["CurrentValue"] = "elsewhere"
        if item["AttributeName"] == "C":
            item["ReadOnly"] = False
    assert normalise(other) == normalise(BODY)
    assert b"secret" not in normalise(BODY)
    kept = parse_registry(json.loads(normalise(BODY)))
    assert kept.attributes["D"].is_read_only
    assert kept.dependencies == parse_registry(BODY).dependencies
    assert normalise(json.loads(normalise(BODY))) == normalise(BODY)


@pytest.mark.parametrize(
    ("manufacturer", "model", "bios", "name"),
    [
        ("Supermicro", "SYS-821GE-TNHR", "1.4", "supermicro/SYS-821GE-TNHR-1.4"),
        ("Dell Inc.", "PowerEdge R750", "1.8.2", "dell/PowerEdge-R750-1.8.2"),
        ("HPE", "ProLiant DL380a Gen11", "U58 v2.44 (01/17/2025)", "hpe/ProLiant-DL380a-Gen11-U58-v2.44-01-17-2025"),
        (None, "../../x", None, "unknown/x-unknown"),
    ],
)
def test_the_name_tells_maker_model_and_bios_version(
    manufacturer: str | None, model: str, bios: str | None, name: str
) -> None:
    assert registry_name(manufacturer, model, bios) == name


def test_a_golden_profile_has_what_differs_and_can_be_written_anywhere() -> None:
    registry = parse_registry(BODY)
    current = {"A": "y", "B": 7, "C": False, "D": "x", "Pw": "hunter2", "Tag": "rack 1", "Unknown": 1}
    profile = golden_profile(registry, current)
    assert profile.attributes == {"B": 7, "C": False}
    assert profile.unjudged == ("A",)
    assert golden_profile(registry, current, with_unjudged=True).attributes == {"A": "y", "B": 7, "C": False}
    assert golden_profile(registry, {**current, "A": "x"}).attributes == {"B": 7}


def test_an_attribute_is_explained_with_what_it_depends_on() -> None:
    lines = list(attribute_lines(parse_registry(BODY), "C"))
    assert "  help:     Say it." in lines
    assert "  depends:  is read-only while A is x" in lines


@pytest.mark.parametrize("path", _captures())
def test_the_profile_of_a_real_machine_changes_nothing_there(path: Path) -> None:
    tree = json.loads(path.read_text())
    bodies = list(_bodies(tree, "RegistryEntries"))
    for bios in _bodies(tree, "Attributes") if bodies else ():
        registry = parse_registry(json.loads(normalise(bodies[0])))
        profile = golden_profile(registry, bios["Attributes"], with_unjudged=True)
        assert compile_plan(registry, profile.attributes, bios["Attributes"]).lines == ()
        refused = find_problems(registry, profile.attributes)
        assert [problem for problem in refused if "forced" not in problem.why] == []
