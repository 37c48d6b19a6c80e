"""Whether the firewall keeps the networks of a node apart: tried with real packets, in a copy of its networks. Pure.

The copy has the node's addresses, a neighbour on each network, and the rules that are loaded on the node now. None of
these packets are on the node's own networks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import netaddr

from metalwright.acceptance.isolation import probe_command as connections

TRIED_S = 0.3
"""How long an answer may take inside one machine."""

UNDECLARED = 9
"""A port that no blueprint declares (discard)."""

_LISTEN = r"""
use Socket; $^F = 1000; my @keep;
while (@ARGV && $ARGV[0] ne "--") { my $p = shift; socket(my $s, PF_INET, SOCK_STREAM, 0) or die "socket: $!\n";
  setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1); bind($s, pack_sockaddr_in($p, INADDR_ANY)) or die "bind $p: $!\n";
  listen($s, 64) or die "listen: $!\n"; push @keep, $s }
shift; system(@ARGV) == 0 or exit 1;
"""
"""Listens on ports (the kernel shakes hands) while the command after ``--`` runs."""

_KIND = 'sed \'s/"veth", //; s/, "veth"//\''
"""Cables of the copy are of the kind that containers hang on; in the copy they are ports."""


@dataclass(frozen=True)
class Firewall:
    """What acceptance must know of a node's rules: digest of the rendered file, its networks, who may read metrics.

    ``zones`` as :func:`metalwright.zones.zones` makes them.
    """

    sha256: str
    zones: Mapping[str, Any]
    scrapers: tuple[str, ...] = ()


def apart_checks(zones: Mapping[str, Any], ports: Sequence[int], scrapers: Sequence[str]) -> list[dict[str, Any]]:
    """One check for a node with several networks, none for another; ``zones`` of :func:`metalwright.zones.zones`.

    ``ports`` are SSH's and the exporters'; where ``scrapers`` are named, only SSH must be open to a neighbour.
    """
    if not zones["apart"] or not zones["management"]:
        return []
    networks = [{**item, "neighbour": _neighbour(item)} for item in zones["apart"]]
    return [{"id": "probe", "networks": networks, "ways": list(_ways(networks, zones, ports, scrapers))}]


def _ways(
    networks: Sequence[Mapping[str, Any]], zones: Mapping[str, Any], ports: Sequence[int], scrapers: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """``way``: ``NETWORK ADDRESS:PORT``, from the neighbour on that network; ``is_open``: whether it must answer."""
    management = zones["management"][0]
    for item in networks:
        is_management = item["address"] == management
        declared = [(entry["address"], int(re.split("-", port)[0])) for entry in zones["open"] for port in entry["tcp"]]
        own = [port for address, port in declared if address == item["address"] and port not in ports]
        for port in ports if not (is_management and scrapers) else ports[:1]:
            yield _way(item, item["address"], port, is_open=is_management)
        for port in own[:2]:
            yield _way(item, item["address"], port, is_open=True)
        yield _way(item, item["address"], UNDECLARED, is_open=False)
        if not is_management:
            yield _way(item, management, ports[0], is_open=False)
            others = [other for other in networks if other is not item]
            yield from (_way(item, other["neighbour"], UNDECLARED, is_open=False) for other in others)


def _way(item: Mapping[str, Any], address: str, port: int, *, is_open: bool) -> dict[str, Any]:
    return {"way": f"{item['network']} {address}:{port}", "is_open": is_open}


def _neighbour(item: Mapping[str, Any]) -> str:
    """Another address of the network."""
    first = netaddr.IPNetwork(item["prefix"]).first
    return next(
        str(address)
        for address in (netaddr.IPAddress(first + step) for step in (1, 2))
        if str(address) != item["address"]
    )


def probe_command(check: Mapping[str, Any]) -> str:
    """The line that makes the copy, loads the rules and tries every way; root only."""
    ports = sorted({int(way["way"].rpartition(":")[2]) for way in check["ways"]})
    inside = [
        "set -e; mount -t tmpfs tmpfs /run; mkdir /run/netns; ip link set lo up",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
    ]
    for number, item in enumerate(check["networks"]):
        peer = f"ip -n n{number}"
        inside += [
            f"ip netns add n{number}; ip link add port{number} type veth peer name far netns n{number}",
            f"ip address add {item['address']}/{item['length']} dev port{number}; ip link set port{number} up",
            f"{peer} address add {item['neighbour']}/{item['length']} dev far; {peer} link set far up",
            f"{peer} link set lo up; {peer} route add default via {item['address']}",
        ]
    inside.append('echo "$rules" | nft --file -')
    tries = [_tries(number, item, check["ways"]) for number, item in enumerate(check["networks"])]
    listening = shlex.join(["perl", "-e", _LISTEN, *map(str, ports), "--", "sh", "-ec", "; ".join(tries)])
    far = [
        f"ip netns exec n{number} {shlex.join(['perl', '-e', _LISTEN, str(UNDECLARED), '--', 'sleep', '30'])} &"
        for number in range(len(check["networks"]))
    ]
    script = "; ".join(inside) + "\n" + "\n".join(far) + f"\nsleep 0.3\n{listening}"
    rules = f"rules=$(nft --stateless list table inet metalwright | {_KIND}) && export rules"
    return f"{rules} && unshare --net --mount --pid --fork --kill-child sh -c {shlex.quote(script)}"


def _tries(number: int, item: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]) -> str:
    mine = [way["way"].partition(" ")[2] for way in ways if way["way"].partition(" ")[0] == item["network"]]
    command = connections(item["neighbour"], mine, timeout_s=TRIED_S)
    return f"ip netns exec n{number} {command} | sed 's/^/{item['network']} /'"


def probe_answers(text: str) -> dict[str, str]:
    """``NETWORK ADDRESS:PORT`` → what came back."""
    return {way: said for way, _, said in (line.rpartition(" ") for line in text.splitlines()) if way}


def wrong_ways(check: Mapping[str, Any], answers: Mapping[str, str]) -> list[str]:
    """Ways that are open and must not be, or the other way round, in words. A refusal is an open way."""
    wrong = []
    for way in check["ways"]:
        is_open = answers[way["way"]] in ("open", "refused")
        if is_open != way["is_open"]:
            source, _, target = way["way"].partition(" ")
            wrong.append(f"from the network {source}, {target} is {'open' if is_open else 'closed'}")
    return wrong
