"""Where a node's addresses come from, and the lock in the forms that other programs read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import netaddr

from metalwright.addressing.needs import BMC_PURPOSE, HOST_PURPOSE, Need, needs_of
from metalwright.addressing.ranges import pool_of, prefix_of
from metalwright.model.repository import SiteRepository


@dataclass(frozen=True)
class Explanation:
    """One address of a node. ``address`` is ``None`` until it is allocated; ``why`` says what decided it."""

    node: str
    network: str
    purpose: str
    address: str | None
    prefix: str
    vlan: int | None
    gateway: str | None
    why: str

    @property
    def interface(self) -> str | None:
        """``address/length``, as an interface carries it."""
        return f"{self.address}/{self.prefix.partition('/')[2]}" if self.address is not None else None

    def to_json(self) -> dict[str, str | int | None]:
        """Plain JSON types."""
        return {**asdict(self), "interface": self.interface}


def explain(repository: SiteRepository, node: str) -> tuple[Explanation, ...]:
    """Every address that a node has or needs, in the order of its networks.

    Raises:
        UsageError: no such node.
        AddressError: a purpose that no network has.
    """
    rack = repository.rack_of(node).model_copy(update={"nodes": (repository.node(node),)})
    needs = needs_of(repository.networks, (rack,), repository.blueprints)
    return tuple(_explanation(repository, need) for need in needs)


def _explanation(repository: SiteRepository, need: Need) -> Explanation:
    lock = repository.addresses
    held = (lock.of_node(need.node) if need.version == 4 else lock.of_node_v6(need.node)).get(need.network.name)
    pool = pool_of(need.network, need.rack, need.version)
    return Explanation(
        node=need.node,
        network=need.network.name,
        purpose=need.network.purpose,
        address=held,
        prefix=prefix_of(need.network, need.version),
        vlan=need.network.vlan,
        gateway=need.network.gateway if need.version == 4 else need.network.gateway_v6,
        why=_why(held, need, pool.name),
    )


def _why(held: str | None, need: Need, pool: str) -> str:
    if held is None:
        return "not allocated yet: run `metalwright addresses allocate`"
    if need.pin == held:
        return "pinned in the rack file"
    return f"allocated from {pool}"


def hosts_file(repository: SiteRepository) -> str:
    """All live addresses as lines of ``/etc/hosts``: the host's own name on host-management, ``-bmc`` for the BMC."""
    lines = [f"{address}\t{name}.{repository.site.domain} {name}" for address, name in _named(repository)]
    return "".join(f"{line}\n" for line in lines)


def _named(repository: SiteRepository) -> Iterator[tuple[str, str]]:
    purposes = {network.name: network.purpose for network in repository.networks}
    for item in sorted(
        repository.addresses.allocations, key=lambda item: (item.version, int(netaddr.IPAddress(item.address)))
    ):
        purpose = purposes.get(item.network)
        if item.freed is None and purpose is not None:
            suffix = {HOST_PURPOSE: "", BMC_PURPOSE: "-bmc"}.get(purpose, f"-{purpose}")
            yield item.address, f"{item.node}{suffix}"
