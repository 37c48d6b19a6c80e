"""Which networks a node's firewall keeps apart, as plain JSON for its template and for acceptance. Pure.

Addresses tell the networks apart, and a packet counts only on the interface that has its address: the names of
interfaces differ from board to board.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import netaddr

from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network
from metalwright.model.repository import SiteRepository
from metalwright.model.security import PortRange

PROBE_MARK = 0x6D77
"""Packets with this mark pass the node's own rule against BMCs, so that acceptance sees what the network lets through.
Only the node's root can set it."""

NO_ZONES: Mapping[str, Any] = {
    "apart": [], "management": [], "management_prefixes": [], "open": [], "bmcs": {"ip": [], "ip6": []},
    "services": {"ip": [], "ip6": []}, "mark": PROBE_MARK,
}  # fmt: skip
"""Nothing is known of the node's networks: what is open is open at every address."""


def zones(repository: SiteRepository, node: str) -> dict[str, Any]:
    """What the firewall must know of the node's networks.

    ``apart``: networks to keep apart (name, purpose, address, length), none where the node joins a single one.
    ``management``: its addresses on the management network, where SSH and the exporters are, with the network's
    prefixes; empty where they cannot be told, and then nothing changes for them. ``open``: declared ports by address.
    ``bmcs``: prefixes of BMCs, ``services``: what the site itself serves to nodes from inside them.
    """
    blueprint = repository.blueprint_of(node)
    joined = _joined(repository, blueprint, node)
    is_apart = len(joined) > 1
    management = [item for item in joined if item["purpose"] == "host-management" and is_apart]
    bmcs = [network for network in repository.networks if network.purpose == "oob-management"]
    return {
        "apart": joined if is_apart else [],
        "management": [item["address"] for item in management],
        "management_prefixes": [item["prefix"] for item in management],
        "open": _open(blueprint, joined),
        "bmcs": {
            "ip": [network.prefix for network in bmcs],
            "ip6": [network.prefix_v6 for network in bmcs if network.prefix_v6],
        },
        "services": _services(repository, bmcs),
        "mark": PROBE_MARK,
    }


def ports_text(ports: tuple[PortRange, ...]) -> list[str]:
    """As nft writes them."""
    return [str(port) for port in ports]


def _joined(repository: SiteRepository, blueprint: Blueprint, node: str) -> list[dict[str, Any]]:
    """The networks on which the node has an address, in the order of the blueprint."""
    allocated = repository.addresses.of_node(node)
    purposes = dict.fromkeys(purpose for attachment in blueprint.network for purpose in attachment.networks)
    networks = (repository.network_of_purpose(purpose) for purpose in purposes)
    return [
        {
            "network": network.name,
            "purpose": network.purpose,
            "prefix": network.prefix,
            "address": allocated[network.name],
            "length": netaddr.IPNetwork(network.prefix).prefixlen,
        }
        for network in networks
        if network is not None and network.name in allocated
    ]


def _open(blueprint: Blueprint, joined: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"address": item["address"], "tcp": ports_text(opened.tcp), "udp": ports_text(opened.udp)}
        for opened in blueprint.security.open_ports
        for item in joined
        if item["purpose"] == opened.network
    ]


def _services(repository: SiteRepository, bmcs: list[Network]) -> dict[str, list[str]]:
    """Name servers, time servers and the boot server, where they stand among the BMCs."""
    site = repository.site
    named = (*site.dns, *site.ntp, site.boot_server.address_for_node)
    texts = (prefix for network in bmcs for prefix in (network.prefix, network.prefix_v6) if prefix)
    prefixes = [netaddr.IPNetwork(text) for text in texts]
    found: dict[str, list[str]] = {"ip": [], "ip6": []}
    for text in dict.fromkeys(named):
        if netaddr.valid_ipv4(text) or netaddr.valid_ipv6(text):
            address = netaddr.IPAddress(text)
            if any(address in prefix for prefix in prefixes):
                found["ip" if address.version == 4 else "ip6"].append(text)
    return found
