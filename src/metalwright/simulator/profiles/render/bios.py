"""BIOS attributes and their registry, from the vendor's attribute file."""

from __future__ import annotations

from typing import Any

from metalwright.simulator.profiles.book import ROOT
from metalwright.simulator.profiles.reading import read_yaml
from metalwright.simulator.profiles.render.frame import Frame, Json


def write(frame: Frame) -> None:
    """The resource in force, the one for changes, and the registry."""
    style, book, data = frame.style, frame.book, frame.data
    rules = read_yaml(f"bios/{data.bios or style.vendor.lower()}")
    values = {name: _factory(item) for name, item in rules["attributes"].items()} | data.bios_values
    path = f"{frame.system}/{style.bios}"
    settings = f"{path}/{style.settings}"
    registry = f"{style.registry}.1.0.0"
    book.add(
        path,
        "Bios",
        "BIOS settings in force",
        {
            "AttributeRegistry": registry,
            "Attributes": values,
            "@Redfish.Settings": {
                "@odata.type": "#Settings.v1_3_5.Settings",
                "SettingsObject": book.link(settings),
                "SupportedApplyTimes": list(style.apply_times),
            },
            "Actions": {"#Bios.ResetBios": {"target": f"{path}/Actions/Bios.ResetBios"}},
        },
    )
    pending = values if style.settings_full else {}
    body = {"AttributeRegistry": registry, "Attributes": pending}
    book.add(settings, "Bios", "BIOS settings after the next reset", body)
    _registry(frame, registry, rules)


def _factory(item: Json) -> Any:
    return item["value"] if "value" in item else item["values"][0]


def _registry(frame: Frame, name: str, rules: Json) -> None:
    book, facts = frame.book, frame.data.system
    path = f"{ROOT}/Registries/{name}"
    file = f"{path}/{name}.json"
    body = {
        "Registry": name,
        "Languages": ["en"],
        "Location": [{"Language": "en", "Uri": file}],
        "Description": "Attributes of the BIOS",
    }
    book.add(path, "MessageRegistryFile", "BIOS attribute registry", body)
    book.bodies[file] = {
        "@odata.type": "#AttributeRegistry.v1_3_8.AttributeRegistry",
        "Id": name,
        "Name": "BIOS attribute registry",
        "Language": "en",
        "OwningEntity": frame.style.vendor,
        "RegistryVersion": "1.0.0",
        "SupportedSystems": [
            {
                "ProductName": facts.model if facts else "",
                "SystemId": "".join(letter for letter in facts.sku if letter.isalnum()) if facts else "",
                "FirmwareVersion": facts.bios_version if facts else "",
            }
        ],
        "RegistryEntries": {
            "Attributes": [_entry(order, *pair) for order, pair in enumerate(rules["attributes"].items(), 1)],
            "Dependencies": [_dependency(rule) for rule in rules.get("dependencies", [])],
        },
    }


def _entry(order: int, name: str, item: Json) -> Json:
    kind = item.get("type", "Enumeration")
    entry: Json = {
        "AttributeName": name,
        "Type": kind,
        "DisplayName": item["display"],
        "DisplayOrder": order,
        "HelpText": item.get("help", item["display"]),
        "MenuPath": item.get("menu", "./Advanced"),
        "ReadOnly": item.get("read_only", False),
        "ResetRequired": True,
        "Immutable": False,
        "Hidden": False,
    }
    if kind == "Enumeration":
        entry["Value"] = [{"ValueName": value, "ValueDisplayName": value} for value in item["values"]]
    if kind == "Integer":
        entry |= {"LowerBound": item["lower"], "UpperBound": item["upper"], "ScalarIncrement": item.get("step", 1)}
    if kind in ("String", "Password"):
        entry |= {"MinLength": 0, "MaxLength": item.get("length", 64)}
    default = _factory(item)
    if not item.get("read_only") and default is not None:
        entry["DefaultValue"] = default
    return entry


def _dependency(rule: Json) -> Json:
    """``lock: A, unless: {B: value}`` makes A read-only while B is another; ``hide: A, when: {B: value}`` hides it."""
    target = rule.get("lock") or rule.get("hide")
    condition = "NEQ" if "unless" in rule else "EQU"
    terms = [
        {
            "MapFromAttribute": name,
            "MapFromProperty": "CurrentValue",
            "MapFromCondition": condition,
            "MapFromValue": value,
            **({"MapTerms": "OR" if condition == "NEQ" else "AND"} if position else {}),
        }
        for position, (name, value) in enumerate((rule.get("unless") or rule["when"]).items())
    ]
    effect = {"MapToAttribute": target, "MapToProperty": "ReadOnly" if "lock" in rule else "Hidden", "MapToValue": True}
    return {"Type": "Map", "DependencyFor": target, "Dependency": {"MapFrom": terms, **effect}}
