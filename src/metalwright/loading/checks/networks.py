"""Networks against each other, and the purposes that blueprints ask for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations

import netaddr

from metalwright.errors import LoadingError
from metalwright.loading.checks.duplicates import duplicates
from metalwright.loading.checks.nodes import each_node
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.network import Network, Networks

BASE_PURPOSES = ("oob-management", "host-management")
"""Every node needs an address for its BMC and one for its host."""


def check_networks(files: SiteFiles) -> Iterator[LoadingError]:
    """Names, purposes, VLANs and prefixes are distinct; slices name racks; purposes in use exist."""
    if files.networks is None:
        return
    networks = files.networks
    yield from _distinct(networks)
    yield from _overlaps(networks)
    yield from _slices(files, networks)
    yield from _purposes(files, networks)


def warn_of_default_vlan(files: SiteFiles) -> Iterator[LoadingError]:
    """VLAN 1 is where unconfigured switch ports end up."""
    if files.networks is None:
        return
    for index, network in enumerate(files.networks.model.networks):
        if network.vlan == 1:
            yield LoadingError(
                f"network {network.name} uses VLAN 1, the default of every switch port",
                where=files.networks.where("networks", index, "vlan"),
                hint="a port that nobody configured would be in this network; take another VLAN",
            )


def _distinct(loaded: Loaded[Networks]) -> Iterator[LoadingError]:
    networks = list(enumerate(loaded.model.networks))
    yield from duplicates(
        "network name",
        ((item.name, item.name, partial(loaded.where, "networks", index, "name")) for index, item in networks),
    )
    yield from duplicates(
        "network purpose",
        ((item.purpose, item.purpose, partial(loaded.where, "networks", index, "purpose")) for index, item in networks),
    )
    yield from duplicates(
        "VLAN",
        (
            (str(item.vlan), str(item.vlan), partial(loaded.where, "networks", index, "vlan"))
            for index, item in networks
            if item.vlan is not None
        ),
    )


def _prefixes(loaded: Loaded[Networks]) -> list[tuple[Network, str, str]]:
    found = []
    for index, network in enumerate(loaded.model.networks):
        found.append((network, network.prefix, loaded.where("networks", index, "prefix")))
        if network.prefix_v6 is not None:
            found.append((network, network.prefix_v6, loaded.where("networks", index, "prefix_v6")))
    return found


def _overlaps(loaded: Loaded[Networks]) -> Iterator[LoadingError]:
    for (one, prefix, first), (other, later, second) in combinations(_prefixes(loaded), 2):
        low, high = netaddr.IPNetwork(prefix), netaddr.IPNetwork(later)
        if low.version == high.version and (low in high or high in low):
            yield LoadingError(
                f"networks {one.name} and {other.name} overlap",
                where=second,
                expected="prefixes that share no address",
                found=f"{prefix} ({first}) and {later}",
                hint="give one of them another prefix; its nodes then need new addresses, pinned in their rack files",
            )


def _slices(files: SiteFiles, loaded: Loaded[Networks]) -> Iterator[LoadingError]:
    racks = {rack.model.name for rack in files.racks} | {path.stem for path in files.unreadable}
    for index, network in enumerate(loaded.model.networks):
        for number, part in enumerate(network.per_rack):
            if part.rack not in racks:
                yield LoadingError(
                    f"network {network.name} has a slice for an unknown rack {part.rack!r}",
                    where=loaded.where("networks", index, "per_rack", number, "rack"),
                    hint=nearest(part.rack, racks),
                )
        for one, other in combinations(enumerate(network.per_rack), 2):
            low, high = netaddr.IPNetwork(one[1].prefix), netaddr.IPNetwork(other[1].prefix)
            if low in high or high in low:
                yield LoadingError(
                    f"network {network.name}: the slices of {one[1].rack} and {other[1].rack} overlap",
                    where=loaded.where("networks", index, "per_rack", other[0], "prefix"),
                    found=f"{one[1].prefix} and {other[1].prefix}",
                    hint="each rack needs a part of its own",
                )


def _purposes(files: SiteFiles, loaded: Loaded[Networks]) -> Iterator[LoadingError]:
    known = {network.purpose for network in loaded.model.networks}
    if files.racks:
        for purpose in BASE_PURPOSES:
            if purpose not in known:
                hint = "every site has it: BMCs and hosts get their addresses there"
                yield LoadingError(f"no network has the purpose {purpose}", where=loaded.where("networks"), hint=hint)
    used = {node.blueprint for _, _, node in each_node(files)}
    for ref in sorted(used & files.blueprints.keys()):
        blueprint = files.blueprints[ref]
        for index, attachment in enumerate(blueprint.model.network):
            for number, purpose in enumerate(attachment.networks):
                if purpose not in known:
                    yield LoadingError(
                        f"{ref} needs a network with the purpose {purpose}, and the site has none",
                        where=blueprint.where("network", index, "networks", number),
                        hint=nearest(purpose, known),
                    )
