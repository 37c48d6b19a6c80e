"""The BIOS of the lab's machines: an attribute registry. Pure.

The names follow what server BIOSes commonly offer; their effect on a virtual machine is nil, but every rule of the
registry (type, list, bounds, read-only, dependency) is enforced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from metalwright.simulator.attribute_rules import AttributeRules
from metalwright.simulator.state import BiosValue

REGISTRY_ID = "BiosAttributeRegistryLab"


@dataclass(frozen=True)
class Attribute:
    """One attribute as the registry declares it."""

    name: str
    kind: Literal["Enumeration", "Integer", "String", "Boolean", "Password"]
    default: BiosValue
    display: str
    help: str
    values: tuple[str, ...] = ()
    lower: int | None = None
    upper: int | None = None
    step: int | None = None
    max_length: int | None = None
    read_only: bool = False


def _enum(name: str, display: str, explanation: str, *values: str) -> Attribute:
    return Attribute(name, "Enumeration", values[0], display, explanation, values)


ATTRIBUTES: dict[str, Attribute] = {
    attribute.name: attribute
    for attribute in (
        _enum("BootMode", "Boot Mode", "How the firmware starts an operating system", "Uefi", "LegacyBios"),
        _enum("SriovGlobalEnable", "SR-IOV Support", "Virtual functions of PCIe devices", "Disabled", "Enabled"),
        _enum("IommuSupport", "IOMMU", "Address translation for devices", "Disabled", "Enabled"),
        _enum("LogicalProc", "Simultaneous Multithreading", "Two threads on each core", "Enabled", "Disabled"),
        _enum("NumaNodesPerSocket", "NUMA Nodes per Socket", "Memory partitions of one socket", "1", "2", "4"),
        _enum("SysProfile", "System Profile", "Balance of power and speed", "Balanced", "Performance", "Custom"),
        _enum("AcPwrRcvry", "AC Power Recovery", "Power state after mains return", "Last", "On", "Off"),
        _enum("AcPwrRcvryDelay", "AC Power Recovery Delay", "Waiting before power on", "Immediate", "User", "Random"),
        _enum("RedirAfterBoot", "Console Redirection after Boot", "Serial console for the OS", "Enabled", "Disabled"),
        Attribute("Above4GDecoding", "Boolean", True, "Above 4G Decoding", "Large device memory windows"),
        Attribute("QuietBoot", "Boolean", False, "Quiet Boot", "Hide messages of the firmware"),
        Attribute(
            "AcPwrRcvryUserDelay",
            "Integer",
            60,
            "User Defined Delay",
            "Seconds before power on; counts with delay User only",
            lower=30,
            upper=600,
            step=10,
        ),
        Attribute("BootTimeout", "Integer", 5, "Boot Timeout", "Seconds in the boot menu", lower=0, upper=60, step=1),
        Attribute("AssetTag", "String", "", "Asset Tag", "Free text of the owner", max_length=32),
        Attribute("SystemBiosVersion", "String", "", "BIOS Version", "Version of the firmware", read_only=True),
    )
}

# (attribute, must be, then this attribute, is no longer read-only)
DEPENDENCY = ("AcPwrRcvryDelay", "User", "AcPwrRcvryUserDelay")


def factory_values(version: str, changes: Mapping[str, BiosValue]) -> dict[str, BiosValue]:
    """Every attribute at its default, then ``changes`` as the machine left the factory."""
    values: dict[str, BiosValue] = {name: attribute.default for name, attribute in ATTRIBUTES.items()}
    values["SystemBiosVersion"] = version
    values.update(changes)
    return values


def registry(product: str, bios_version: str) -> dict[str, Any]:
    """The registry as ``#AttributeRegistry.v1_3_8.AttributeRegistry``."""
    source, needed, target = DEPENDENCY
    dependency = {
        "Type": "Map",
        "DependencyFor": target,
        "Dependency": {
            "MapFrom": [
                {
                    "MapFromAttribute": source,
                    "MapFromProperty": "CurrentValue",
                    "MapFromCondition": "NEQ",
                    "MapFromValue": needed,
                }
            ],
            "MapToAttribute": target,
            "MapToProperty": "ReadOnly",
            "MapToValue": True,
        },
    }
    return {
        "@odata.type": "#AttributeRegistry.v1_3_8.AttributeRegistry",
        "Id": f"{REGISTRY_ID}.1.0.0",
        "Name": "BIOS attribute registry",
        "Language": "en",
        "OwningEntity": "metalwright",
        "RegistryVersion": "1.0.0",
        "SupportedSystems": [{"ProductName": product, "SystemId": _letters(product), "FirmwareVersion": bios_version}],
        "RegistryEntries": {
            "Attributes": [_entry(order, attribute) for order, attribute in enumerate(ATTRIBUTES.values(), 1)],
            "Dependencies": [dependency],
        },
    }


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def _entry(order: int, attribute: Attribute) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "AttributeName": attribute.name,
        "Type": attribute.kind,
        "DisplayName": attribute.display,
        "DisplayOrder": order,
        "HelpText": attribute.help,
        "MenuPath": "./Setup",
        "ReadOnly": attribute.read_only,
        "ResetRequired": True,
        "Immutable": False,
        "Hidden": False,
    }
    if attribute.default != "":
        entry["DefaultValue"] = attribute.default
    if attribute.kind == "Enumeration":
        entry["Value"] = [{"ValueName": value, "ValueDisplayName": value} for value in attribute.values]
    if attribute.kind == "Integer":
        entry |= {
            "LowerBound": attribute.lower,
            "UpperBound": attribute.upper,
            "ScalarIncrement": attribute.step,
        }
    if attribute.max_length is not None:
        entry |= {"MinLength": 0, "MaxLength": attribute.max_length}
    return entry


RULES = AttributeRules(registry("", "")["RegistryEntries"])
"""What the registry allows."""
