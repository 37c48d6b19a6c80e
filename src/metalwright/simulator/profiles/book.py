"""Builds a resource tree: every resource gets its type, id and name; collections count their members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

ROOT = "/redfish/v1"
OK: Json = {"State": "Enabled", "Health": "OK"}
ABSENT: Json = {"State": "Absent"}

TYPES = {
    "AccountService": "v1_15_1",
    "AttributeRegistry": "v1_3_8",
    "Assembly": "v1_5_1",
    "Bios": "v1_2_3",
    "BootOption": "v1_0_6",
    "Certificate": "v1_9_0",
    "CertificateService": "v1_0_6",
    "Chassis": "v1_25_0",
    "ComputerSystem": "v1_22_0",
    "Drive": "v1_20_0",
    "EnvironmentMetrics": "v1_3_1",
    "EthernetInterface": "v1_11_0",
    "EventService": "v1_10_2",
    "Fan": "v1_5_1",
    "JsonSchemaFile": "v1_1_5",
    "LogEntry": "v1_17_0",
    "LogService": "v1_5_1",
    "Manager": "v1_19_1",
    "ManagerNetworkProtocol": "v1_10_0",
    "Memory": "v1_20_0",
    "MessageRegistryFile": "v1_1_4",
    "NetworkAdapter": "v1_11_0",
    "NetworkDeviceFunction": "v1_9_2",
    "NetworkInterface": "v1_2_2",
    "PCIeDevice": "v1_15_0",
    "PCIeFunction": "v1_6_0",
    "Port": "v1_13_0",
    "Power": "v1_7_3",
    "PowerSubsystem": "v1_1_2",
    "PowerSupply": "v1_6_0",
    "PowerSupplyMetrics": "v1_1_1",
    "Processor": "v1_20_0",
    "SecureBoot": "v1_1_2",
    "Sensor": "v1_9_1",
    "ServiceRoot": "v1_16_0",
    "SoftwareInventory": "v1_11_0",
    "Storage": "v1_17_1",
    "TelemetryService": "v1_3_3",
    "Thermal": "v1_7_3",
    "ThermalMetrics": "v1_3_1",
    "ThermalSubsystem": "v1_3_2",
    "UpdateService": "v1_14_1",
    "VirtualMedia": "v1_6_3",
    "Volume": "v1_10_0",
}
"""Version of each type that the profiles speak (DMTF bundle of 2024)."""


class Book:
    """The tree that is being built. ``slash`` is what the vendor puts at the end of every link."""

    def __init__(self, slash: str = "") -> None:
        self.bodies: dict[str, Json] = {}
        self._slash = slash

    def link(self, path: str) -> Json:
        """A reference to a resource."""
        return {"@odata.id": f"{path}{self._slash}"}

    def links(self, paths: Iterable[str]) -> list[Json]:
        """References."""
        return [self.link(path) for path in paths]

    def add(self, path: str, kind: str, name: str, properties: Mapping[str, Any] | None = None) -> str:
        """Put a resource whose id is its last segment; its path."""
        return self.add_as(path, kind, path.rpartition("/")[2], name, properties)

    def add_as(
        self, path: str, kind: str, identity: str, name: str, properties: Mapping[str, Any] | None = None
    ) -> str:
        """Put a resource with an id of its own; its path."""
        self.bodies[path] = {
            "@odata.id": f"{path}{self._slash}",
            "@odata.type": f"#{kind}.{TYPES[kind]}.{kind}",
            "Id": identity,
            "Name": name,
            **(properties or {}),
        }
        return path

    def collect(self, path: str, kind: str, members: Iterable[str], name: str = "") -> str:
        """Put a collection of member paths; its path."""
        found = list(members)
        self.bodies[path] = {
            "@odata.id": f"{path}{self._slash}",
            "@odata.type": f"#{kind}Collection.{kind}Collection",
            "Name": name or f"{kind} collection",
            "Members": self.links(found),
            "Members@odata.count": len(found),
        }
        return path

    def put(self, path: str, **properties: Any) -> None:
        """Add properties to a resource."""
        self.bodies[path] |= properties
