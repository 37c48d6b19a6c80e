"""The host as its BMC shows it: what it is, its power, its BIOS, its boot, its drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.facts.redfish.base import Json, RedfishFact, action_of, as_object, texts


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
    """``state`` (On, Off, PoweringOn, … or null), ``reset_uri``, ``reset_types`` (allowed values, null: not told).

    ``last_reset`` and ``boot_state_at`` are the times of the last reset and of the last step of the boot, null where
    the BMC does not tell; ``boot_state`` is that step.
    """

    def command(self) -> str:
        """The system; one more GET where the allowed values stand apart."""
        return "GET @system @reset-info?"

    def read(self, body: Any) -> Json:
        """The reset action is null where the BMC offers none."""
        system, info = body
        action = action_of(system, "#ComputerSystem.Reset")
        progress = as_object(system.get("BootProgress"))
        return {
            "uri": system.get("@odata.id"),
            "state": system.get("PowerState"),
            "reset_uri": action.get("target"),
            "reset_types": texts(action.get("ResetType@Redfish.AllowableValues")) or _reset_types(info),
            "last_reset": system.get("LastResetTime"),
            "boot_state": progress.get("LastState"),
            "boot_state_at": progress.get("LastStateTime"),
        }


def _reset_types(info: Any) -> list[str] | None:
    """Return the allowed values of ``ResetType`` in an ActionInfo."""
    parameters = as_object(info).get("Parameters")
    named = [as_object(item) for item in parameters] if isinstance(parameters, list) else []
    return next((texts(item.get("AllowableValues")) for item in named if item.get("Name") == "ResetType"), None)


class BootOverride(RedfishFact):
    """``target enabled mode``, what is ``allowed``, where changes are written (``uri``) and the BMC's ``behaviour``.

    ``allowed_enabled`` are the durations that the BMC lists; ``http_uri`` is what HTTP boot loads, and
    ``is_http_uri_shown`` whether the BMC has such a property at all.
    """

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
            "allowed_enabled": texts(boot.get("BootSourceOverrideEnabled@Redfish.AllowableValues")),
            "http_uri": boot.get("HttpBootUri") or changes.get("HttpBootUri"),
            "is_http_uri_shown": "HttpBootUri" in boot or "HttpBootUri" in changes,
            "behaviour": behaviour,
        }


class BootOptions(RedfishFact):
    """``options`` in the order in which the firmware tries them: ``reference name alias is_enabled path uri``.

    ``order`` is the BMC's list of references; null where it tells none. Options that the order does not name come last.
    """

    def command(self) -> str:
        """The system, and every boot option."""
        return "GET @system @system/Boot/BootOptions/*?"

    def read(self, body: Any) -> Json:
        """Names and paths as the firmware writes them."""
        system, found = body
        order = texts(as_object(system.get("Boot")).get("BootOrder"))
        options = [_boot_option(as_object(item)) for item in (found or {"Members": []})["Members"]]
        places = {reference: place for place, reference in enumerate(order or [])}
        options.sort(key=lambda option: places.get(str(option["reference"]), len(places)))
        return {"uri": system.get("@odata.id"), "order": order, "options": options}


def _boot_option(item: Json) -> Json:
    return {
        "uri": item.get("@odata.id"),
        "reference": item.get("BootOptionReference") or item.get("Id"),
        "name": item.get("DisplayName") or item.get("Name"),
        "alias": item.get("Alias"),
        "is_enabled": item.get("BootOptionEnabled"),
        "path": item.get("UefiDevicePath"),
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
