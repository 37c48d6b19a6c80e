"""Facts about a server through its BMC (connector ``@redfish``). Each fact is GETs; nothing is changed by reading.

Every fact is None when the BMC does not answer. Values keep Redfish's words; ``uri`` names the resource that a change
is written to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyinfra.api.exceptions import FactProcessError
from pyinfra.api.facts import FactBase

Json = dict[str, Any]


class RedfishFact(FactBase[Json | None]):
    """Base: the command prints JSON, ``read`` makes the fact of it."""

    abstract = True

    def process(self, output: list[str]) -> Json | None:
        """Return the fact; raises FactProcessError when the BMC's answer has another shape."""
        try:
            return self.read(json.loads("\n".join(output)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FactProcessError(f"{self.name}: the BMC's answer has another shape: {error}") from error

    def read(self, body: Any) -> Json:
        """Return the fact made of the decoded output."""
        return dict(body)


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
        action = _action(body, "#ComputerSystem.Reset")
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
            "attributes": _object(bios.get("Attributes")),
            "settings_uri": settings.get("@odata.id") if settings else None,
            "pending": _object(settings.get("Attributes")) if settings else None,
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
        boot, changes = _object(system.get("Boot")), _object(settings.get("Boot"))
        allowed = "BootSourceOverrideTarget@Redfish.AllowableValues"
        return {
            "uri": settings.get("@odata.id"),
            "target": boot.get("BootSourceOverrideTarget"),
            "enabled": boot.get("BootSourceOverrideEnabled"),
            "mode": boot.get("BootSourceOverrideMode"),
            "allowed": boot.get(allowed) or changes.get(allowed),
            "behaviour": behaviour,
        }


class VirtualMedia(RedfishFact):
    """``slots``: each with ``uri types is_inserted image insert_uri eject_uri``.

    The unguessable part of an image's URL is shown as its SHA-256: ``http://…/m/{sha256:…}/boot.iso``.
    """

    def command(self) -> str:
        """The slots of the system, or else of the manager."""
        return "GET @media/*"

    def read(self, body: Any) -> Json:
        """``is_inserted`` believes the image as well as the flag."""
        return {"slots": [_slot(slot) for slot in body["Members"]], "problems": body["problems"]}


class Accounts(RedfishFact):
    """``accounts`` (``uri user is_enabled role is_locked``) and the service's ``min_length``, ``max_length``."""

    def command(self) -> str:
        """The service and every account."""
        return "GET @root/AccountService @root/AccountService/Accounts/*"

    def read(self, body: Any) -> Json:
        """Empty slots are left out."""
        service, accounts = body
        return {
            "min_length": service.get("MinPasswordLength"),
            "max_length": service.get("MaxPasswordLength"),
            "accounts": [
                {
                    "uri": account.get("@odata.id"),
                    "user": account.get("UserName"),
                    "is_enabled": account.get("Enabled"),
                    "is_locked": account.get("Locked"),
                    "role": account.get("RoleId"),
                }
                for account in accounts["Members"]
                if account.get("UserName")
            ],
        }


class Login(RedfishFact):
    """How this connection logged in: ``user``, ``origin`` (factory, current, staged, environment), ``is_staged``."""

    def command(self) -> str:
        """Asks the connector, not the BMC."""
        return "SECRET state"


class ManagerNetwork(RedfishFact):
    """``interfaces`` of the BMC: ``uri mac is_enabled is_dhcp addresses`` (address, mask, gateway, origin)."""

    def command(self) -> str:
        """Every interface of the manager."""
        return "GET @manager/EthernetInterfaces/*"

    def read(self, body: Any) -> Json:
        """Null where the BMC says nothing."""
        return {"interfaces": [_interface(item) for item in body["Members"]], "problems": body["problems"]}


class ManagerClock(RedfishFact):
    """The BMC's ``time``, its UTC ``offset``, and its NTP (``is_ntp``, ``servers``)."""

    def command(self) -> str:
        """Manager and network protocol."""
        return "GET @manager @manager/NetworkProtocol?"

    def read(self, body: Any) -> Json:
        """``uri`` is where NTP is written; null where the BMC offers no NTP."""
        manager, protocol = body
        ntp = _object(protocol.get("NTP")) if protocol else {}
        servers = ntp.get("NTPServers")
        return {
            "time": manager.get("DateTime"),
            "offset": manager.get("DateTimeLocalOffset"),
            "is_ntp": ntp.get("ProtocolEnabled"),
            "servers": [str(item) for item in servers if item] if isinstance(servers, list) else [],
            "uri": protocol.get("@odata.id") if ntp else None,
        }


class NetworkProtocol(RedfishFact):
    """``protocols``: name → whether it is enabled; ``uri`` is where they are written."""

    def command(self) -> str:
        """One GET."""
        return "GET @manager/NetworkProtocol"

    def read(self, body: Any) -> Json:
        """Every member that has ``ProtocolEnabled``."""
        protocols = {
            name: value["ProtocolEnabled"]
            for name, value in body.items()
            if isinstance(value, Mapping) and "ProtocolEnabled" in value
        }
        return {"uri": body.get("@odata.id"), "protocols": protocols}


class FirmwareInventory(RedfishFact):
    """``firmware``: each ``id name version is_updateable``; ``bios_version`` and ``bmc_version`` beside it."""

    def command(self) -> str:
        """Slow on large machines; it has its own time limit."""
        return "GET @system @manager @root/UpdateService/FirmwareInventory/*"

    def read(self, body: Any) -> Json:
        """Versions are text, never compared as numbers here."""
        system, manager, inventory = body
        return {
            "bios_version": system.get("BiosVersion"),
            "bmc_version": manager.get("FirmwareVersion"),
            "firmware": [
                {
                    "id": item.get("Id"),
                    "name": item.get("Name"),
                    "version": item.get("Version"),
                    "is_updateable": item.get("Updateable"),
                }
                for item in inventory["Members"]
            ],
            "problems": inventory["problems"],
        }


class Drives(RedfishFact):
    """``drives`` of the host's storage: ``uri name model serial protocol media size_bytes``."""

    def command(self) -> str:
        """Every drive of every storage resource."""
        return "GET @system/Storage/*/Drives/*"

    def read(self, body: Any) -> Json:
        """Empty slots are left out."""
        drives = [item for item in body["Members"] if _object(item.get("Status")).get("State") != "Absent"]
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


def _object(value: Any) -> Json:
    return dict(value) if isinstance(value, Mapping) else {}


def _action(body: Mapping[str, Any], name: str) -> Json:
    return _object(_object(body.get("Actions")).get(name))


def _slot(slot: Mapping[str, Any]) -> Json:
    image = slot.get("Image")
    image = image if isinstance(image, str) and image not in ("", "None") else None
    types = slot.get("MediaTypes")
    return {
        "uri": slot.get("@odata.id"),
        "types": [str(item) for item in types] if isinstance(types, list) else [],
        "is_inserted": bool(slot.get("Inserted")) or image is not None,
        "image": image,
        "insert_uri": _action(slot, "#VirtualMedia.InsertMedia").get("target"),
        "eject_uri": _action(slot, "#VirtualMedia.EjectMedia").get("target"),
    }


def _interface(item: Mapping[str, Any]) -> Json:
    addresses = item.get("IPv4Addresses")
    return {
        "uri": item.get("@odata.id"),
        "mac": item.get("MACAddress"),
        "is_enabled": item.get("InterfaceEnabled"),
        "is_dhcp": _object(item.get("DHCPv4")).get("DHCPEnabled"),
        "addresses": [
            {
                "address": entry.get("Address"),
                "mask": entry.get("SubnetMask"),
                "gateway": entry.get("Gateway"),
                "origin": entry.get("AddressOrigin"),
            }
            for entry in (addresses if isinstance(addresses, list) else [])
            if isinstance(entry, Mapping)
        ],
    }
