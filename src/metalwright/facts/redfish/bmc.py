"""The BMC itself: media, accounts, network, clock, protocols, firmware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metalwright.facts.redfish.base import Json, RedfishFact, action_of, as_object


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
    """``accounts`` (``uri user is_enabled role is_locked``) and where another one would go.

    ``uri`` is the collection and ``slots`` are its empty members, the reserved first one left out; ``can_create`` tells
    whether the collection takes new members, null where the BMC does not say. The service's ``min_length``,
    ``max_length`` (of passwords), ``lockout_threshold`` and ``lockout_s`` are null where it does not have them. All is
    null or empty, and ``is_offered`` false, where the BMC has no account service.
    """

    def command(self) -> str:
        """The service and every account."""
        return "GET @root/AccountService? @accounts?"

    def read(self, body: Any) -> Json:
        """An account is a member with a name, a slot one without."""
        is_offered = all(part is not None for part in body)
        service, accounts = body if is_offered else ({}, {"Members": [], "allow": None, "uri": None, "problems": []})
        allow = accounts["allow"]
        slots = [item["@odata.id"] for item in accounts["Members"] if "UserName" in item and not item["UserName"]]
        return {
            "is_offered": is_offered,
            "service_uri": service.get("@odata.id"),
            "min_length": service.get("MinPasswordLength"),
            "max_length": service.get("MaxPasswordLength"),
            "lockout_threshold": service.get("AccountLockoutThreshold"),
            "lockout_s": service.get("AccountLockoutDuration"),
            "uri": accounts["uri"],
            "can_create": "POST" in allow if allow is not None else None,
            "slots": [uri for uri in slots if uri.rstrip("/").rsplit("/", 1)[-1] != RESERVED_SLOT],
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
            "problems": accounts["problems"],
        }


RESERVED_SLOT = "1"
"""The empty first slot is IPMI's anonymous user: Dell, Intel and Supermicro refuse to give it a name."""


class Login(RedfishFact):
    """How this connection logged in: ``user``, ``origin`` (factory, current, staged, environment), ``is_staged``.

    ``must_change``: the BMC wants another password before anything else; ``is_shared``: the account is not
    metalwright's own; ``made``: the day of its password; ``barred``: default accounts whose factory passwords were
    seen refused.
    """

    def command(self) -> str:
        """Asks the connector, not the BMC."""
        return "SECRET state"


class Lockdown(RedfishFact):
    """``uri``, ``is_locked``, and the bodies ``locked`` and ``unlocked`` to write; ``{}`` where not offered."""

    def command(self) -> str:
        """Wherever the maker has it."""
        return "GET @lockdown?"

    def read(self, body: Any) -> Json:
        """An empty object where no lockdown is known for this kind of BMC."""
        return dict(body) if body else {}


class HttpsCertificate(RedfishFact):
    """The certificate ``shown`` over HTTPS and the one ``wanted``: subject, issuer, names, and when the first expires.

    ``why``: what is wrong with the one shown, nothing where it is as wanted; ``offers``: how it can be replaced,
    ``csr`` (the BMC makes its key), ``key`` (it must be sent one) or null.
    """

    def command(self) -> str:
        """Asks the connector, which looks at the certificate and at what the BMC offers."""
        return "CERTIFICATE state"


class RemoteSyslog(RedfishFact):
    """``uri``, ``maker`` and ``body`` of the resource that names the log's servers; ``{}`` where not offered."""

    def command(self) -> str:
        """Wherever the maker has it."""
        return "GET @syslog?"

    def read(self, body: Any) -> Json:
        """An empty object where no remote syslog is known for this kind of BMC."""
        return dict(body) if body else {}


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
        ntp = as_object(protocol.get("NTP")) if protocol else {}
        servers = ntp.get("NTPServers")
        return {
            "time": manager.get("DateTime"),
            "offset": manager.get("DateTimeLocalOffset"),
            "is_ntp": ntp.get("ProtocolEnabled"),
            "servers": [str(item) for item in servers if item] if isinstance(servers, list) else [],
            "uri": protocol.get("@odata.id") if ntp else None,
        }


class NetworkProtocol(RedfishFact):
    """``protocols``: name → whether it is enabled; ``uri`` is where they are written, null where not offered."""

    def command(self) -> str:
        """One GET."""
        return "GET @manager/NetworkProtocol?"

    def read(self, body: Any) -> Json:
        """Every member that has ``ProtocolEnabled``."""
        protocols = {
            name: value["ProtocolEnabled"]
            for name, value in as_object(body).items()
            if isinstance(value, Mapping) and "ProtocolEnabled" in value
        }
        return {"uri": as_object(body).get("@odata.id"), "protocols": protocols}


class FirmwareInventory(RedfishFact):
    """``firmware``: each ``id name version uri lowest``; ``model``, ``bios_version`` and ``bmc_version`` beside it.

    ``lowest`` is the oldest version that the BMC takes back, null where it does not say.
    """

    def command(self) -> str:
        """Slow on large machines; it has its own time limit."""
        return "GET @system @manager @root/UpdateService/FirmwareInventory/*"

    def read(self, body: Any) -> Json:
        """Versions are text, never compared as numbers here."""
        system, manager, inventory = body
        return {
            "model": system.get("Model"),
            "bios_version": system.get("BiosVersion"),
            "bmc_version": manager.get("FirmwareVersion"),
            "firmware": [
                {
                    "id": str(item.get("Id")),
                    "name": item.get("Name"),
                    "version": item.get("Version"),
                    "uri": item.get("@odata.id"),
                    "lowest": item.get("LowestSupportedVersion"),
                }
                for item in inventory["Members"]
            ],
            "problems": inventory["problems"],
        }


class EventLogs(RedfishFact):
    """``logs``: each event log with ``name uri entries_uri clear_uri`` and how many ``entries`` it has (or null)."""

    def command(self) -> str:
        """The log services, and one page of each log."""
        return "GET @event-logs"

    def read(self, body: Any) -> Json:
        """As found by the links of system, manager and chassis."""
        return dict(body)


class FirmwareUpdates(RedfishFact):
    """``updates`` under way on a node: the journal's record of each, and ``task_now``: what its task says."""

    def command(self) -> str:
        """Asks the connector, which asks the BMC about the tasks."""
        return "FIRMWARE state"


def _slot(slot: Mapping[str, Any]) -> Json:
    image = slot.get("Image")
    image = image if isinstance(image, str) and image not in ("", "None") else None
    types = slot.get("MediaTypes")
    return {
        "uri": slot.get("@odata.id"),
        "types": [str(item) for item in types] if isinstance(types, list) else [],
        "is_inserted": bool(slot.get("Inserted")) or image is not None,
        "image": image,
        "insert_uri": action_of(slot, "#VirtualMedia.InsertMedia").get("target"),
        "eject_uri": action_of(slot, "#VirtualMedia.EjectMedia").get("target"),
    }


def _interface(item: Mapping[str, Any]) -> Json:
    addresses = item.get("IPv4Addresses")
    return {
        "uri": item.get("@odata.id"),
        "mac": item.get("MACAddress"),
        "is_enabled": item.get("InterfaceEnabled"),
        "is_dhcp": as_object(item.get("DHCPv4")).get("DHCPEnabled"),
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
