"""The host as its BMC shows it: what it is, its power, its BIOS, its boot, its drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.facts.redfish.base import Json, RedfishFact, action_of, as_object


class System(RedfishFact):
    """The host: ``uri manufacturer model serial uuid bios_version power_state hostname boot_progress``."""

    def command(self) -> str:
        """One GET."""
        return "GET @system"

    def read(self, body: Any) -> Json:
        """Redfish's values; null where the BMC says nothing."""
        progress = body.get("BootProgress")
        return {
            "uri": body.get("@odata.id"),
            "manufacturer": body.get("Manufacturer"),
            "model": body.get("Model"),
            "serial": body.get("SerialNumber"),
            "uuid": body.get("UUID"),
            "bios_version": body.get("BiosVersion"),
            "power_state": body.get("PowerState"),
            "hostname": body.get("HostName"),
            "boot_progress": progress.get("LastState") if isinstance(progress, Mapping) else None,
        }


class Power(RedfishFact):
    """``state`` (On, Off, PoweringOn, … or null), ``reset_uri``, ``reset_types`` (allowed values), ``last_reset``."""

    def command(self) -> str:
        """One GET."""
        return "GET @system"

    def read(self, body: Any) -> Json:
        """The reset action is null where the BMC offers none."""
        action = action_of(body, "#ComputerSystem.Reset")
        types = action.get("ResetType@Redfish.AllowableValues")
        return {
            "uri": body.get("@odata.id"),
            "state": body.get("PowerState"),
            "reset_uri": action.get("target"),
            "reset_types": [str(item) for item in types] if isinstance(types, list) else None,
            "last_reset": body.get("LastResetTime"),
        }


class BiosAttributes(RedfishFact):
    """BIOS attributes in force (``attributes``), what waits for a reset (``pending``) and where to write.

    ``settings_uri`` and ``pending`` are null where the BMC offers no place for changes; ``apply_times`` are the
    supported ones; ``registry`` is the name of the attribute registry.
    """

    def command(self) -> str:
        """Two GETs."""
        return "GET @system/Bios @bios-settings?"

    def read(self, body: Any) -> Json:
        """Attributes as the BMC types them."""
        bios, settings = body
        annotation = bios.get("@Redfish.Settings")
        times = annotation.get("SupportedApplyTimes") if isinstance(annotation, Mapping) else None
        return {
            "uri": bios.get("@odata.id"),
            "registry": bios.get("AttributeRegistry"),
            "attributes": as_object(bios.get("Attributes")),
            "settings_uri": settings.get("@odata.id") if settings else None,
            "pending": as_object(settings.get("Attributes")) if settings else None,
            "apply_times": [str(item) for item in times] if isinstance(times, list) else [],
        }


class BiosRegistry(RedfishFact):
    """The attribute registry of this BIOS version, as Redfish defines it; ``{}`` where the BMC serves none."""

    def command(self) -> str:
        """A few GETs: registries, registry file, registry."""
        return "GET @bios-registry?"

    def read(self, body: Any) -> Json:
        """The registry."""
        return dict(body) if body else {}


class BootOverride(RedfishFact):
    """``target enabled mode``, what is ``allowed``, where changes are written (``uri``) and the BMC's ``behaviour``."""

    def command(self) -> str:
        """The system, and its settings resource where that takes boot changes."""
        return "GET @system @system-settings @behaviour"

    def read(self, body: Any) -> Json:
        """Allowed values come from whichever resource lists them."""
        system, settings, behaviour = body
        boot, changes = as_object(system.get("Boot")), as_object(settings.get("Boot"))
        allowed = "BootSourceOverrideTarget@Redfish.AllowableValues"
        return {
            "uri": settings.get("@odata.id"),
            "target": boot.get("BootSourceOverrideTarget"),
            "enabled": boot.get("BootSourceOverrideEnabled"),
            "mode": boot.get("BootSourceOverrideMode"),
            "allowed": boot.get(allowed) or changes.get(allowed),
            "behaviour": behaviour,
        }


class Drives(RedfishFact):
    """``drives`` of the host's storage: ``uri name model serial protocol media size_bytes``."""

    def command(self) -> str:
        """Every drive of every storage resource."""
        return "GET @system/Storage/*/Drives/*"

    def read(self, body: Any) -> Json:
        """Empty slots are left out."""
        drives = [item for item in body["Members"] if as_object(item.get("Status")).get("State") != "Absent"]
        return {
            "drives": [
                {
                    "uri": item.get("@odata.id"),
                    "name": item.get("Name"),
                    "model": item.get("Model"),
                    "serial": item.get("SerialNumber"),
                    "protocol": item.get("Protocol"),
                    "media": item.get("MediaType"),
                    "size_bytes": item.get("CapacityBytes"),
                }
                for item in drives
            ],
            "problems": body["problems"],
        }
