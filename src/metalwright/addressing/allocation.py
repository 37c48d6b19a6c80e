"""The allocator. Stable: an address that was given stays, whatever else is added, removed or reordered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import date

import netaddr

from metalwright.addressing.needs import Need, needs_of
from metalwright.addressing.ranges import Pool, address_text, dhcp_range, pool_of, prefix_of, usable, withheld
from metalwright.errors import AddressError
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.base import address_order
from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network
from metalwright.model.rack import Rack

QUARANTINE_DAYS = 30
"""How long a freed address is not given to another node: neighbours, DNS and monitoring still know the old one."""

FOREIGN = "foreign-device"
"""The owner of an address that answers although no node has it."""

_Key = tuple[str, str, int]


@dataclass(frozen=True)
class Allocated:
    """The new lock, and a note for everything that is not plain continuation."""

    lock: AddressLock
    notes: tuple[str, ...]


def allocate(
    networks: Iterable[Network],
    racks: Iterable[Rack],
    blueprints: Mapping[str, Blueprint],
    lock: AddressLock,
    today: date,
    *,
    quarantine_days: int = QUARANTINE_DAYS,
    answering: Set[str] = frozenset(),
) -> Allocated:
    """Give every node the addresses it needs; keep all that were given; turn those of gone nodes into tombstones.

    ``answering`` are addresses that were seen to answer on the network: none of them is given to a node anew, and
    each is recorded as a tombstone of ``foreign-device``, so that nobody gets it soon.
    Same inputs give the same lock, in any order of files. A second call with the result changes nothing.

    Raises:
        AddressError: no room (says how many are needed), a pin that cannot be given, or a recorded address that the
            networks no longer allow.
    """
    known = tuple(networks)
    needs = needs_of(known, racks, blueprints)
    book = _Book(known, today, quarantine_days, answering)
    book.take_over(lock, {need.key: need for need in needs})
    book.give_pins(needs)
    book.give_free(needs)
    book.keep_foreign()
    return Allocated(AddressLock(allocations=book.sorted()), tuple(book.notes))


@dataclass
class _Book:
    """The lock while it is rewritten; addresses are unique keys, so none can be given twice."""

    networks: tuple[Network, ...]
    today: date
    quarantine_days: int
    answering: Set[str] = frozenset()
    records: dict[str, Allocation] = field(default_factory=dict)
    held: dict[_Key, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def take_over(self, lock: AddressLock, needs: Mapping[_Key, Need]) -> None:
        """Carry every record into the new lock: kept, freed today, or the tombstone that it was."""
        for item in lock.allocations:
            record = self._renamed(item)
            need = needs.get((record.node, record.network, record.version))
            if record.freed is None and need is None:
                self.notes.append(f"{record.address} of {record.node} on {record.network} is free from today")
                record = record.model_copy(update={"freed": self.today})
            elif record.freed is None and need is not None:
                _check_kept(record, need)
                self.held[need.key] = record.address
            self.records[record.address] = record

    def _renamed(self, item: Allocation) -> Allocation:
        """A network that was given another name keeps its allocations."""
        if any(network.name == item.network for network in self.networks):
            return item
        address = netaddr.IPAddress(item.address)
        for network in self.networks:
            prefix = prefix_of(network, item.version)
            if prefix and address in netaddr.IPNetwork(prefix):
                self.notes.append(f"{item.address} of {item.node}: network {item.network} is now {network.name}")
                return item.model_copy(update={"network": network.name})
        return item

    def give_pins(self, needs: Iterable[Need]) -> None:
        """Give what rack files pin, before anything is chosen."""
        pinned = [need for need in needs if need.pin is not None]
        for need in pinned:
            _check_pin(need)
            before = self.held.get(need.key)
            if before is not None and before != need.pin:
                self._free(before)
                self.notes.append(f"{need.node} moves from {before} to its pinned address {need.pin}")
        for need in pinned:
            holder = self.records.get(str(need.pin))
            if holder is not None and holder.freed is None and (holder.node, holder.network) != need.key[:2]:
                raise AddressError(
                    f"{need.pin} is pinned for {need.node}, but belongs to {holder.node}",
                    where=need.node,
                    hint=f"pin another address, or retire {holder.node} first",
                )
            self._give(need, str(need.pin))

    def give_free(self, needs: Iterable[Need]) -> None:
        """Give the rest: the node's own former address, else the lowest free one of its pool."""
        open_needs = [need for need in needs if need.key not in self.held]
        former = self._former()
        for need in open_needs:
            self._give_back(need, former.get(need.key, []))
        pools: dict[Pool, list[Need]] = {}
        for need in open_needs:
            if need.key not in self.held:
                pools.setdefault(pool_of(need.network, need.rack, need.version), []).append(need)
        short = [error for pool, waiting in pools.items() if (error := self._give_from(pool, waiting))]
        if short:
            raise AddressError(
                "; ".join(short),
                where="inventory/networks.yaml",
                hint="widen the prefix or the slice, shorten reserved, or retire nodes",
            )

    def _former(self) -> dict[_Key, list[Allocation]]:
        """The tombstones by whom they belonged to, newest first."""
        former: dict[_Key, list[Allocation]] = {}
        for item in sorted(self.records.values(), key=lambda item: (item.freed or self.today, item.address)):
            if item.freed is not None:
                former.setdefault((item.node, item.network, item.version), []).insert(0, item)
        return former

    def _give_back(self, need: Need, former: list[Allocation]) -> None:
        address = next((item.address for item in former if _is_allowed(item.address, need)), None)
        if address is not None:
            self._give(need, address)
            self.notes.append(f"{need.node} gets its former address {address} back")

    def _give_from(self, pool: Pool, waiting: list[Need]) -> str | None:
        candidates = pool.candidates()
        for given, need in enumerate(waiting):
            address = next((text for value in candidates if self._is_free(text := self._text(value, pool))), None)
            address = address or self._oldest_tombstone(pool)
            if address is None:
                return f"{pool.name}: {len(waiting)} more addresses are needed, {given} are free"
            self._give(need, address)
        return None

    @staticmethod
    def _text(value: int, pool: Pool) -> str:
        return address_text(value, pool.version)

    def _is_free(self, address: str) -> bool:
        if address in self.answering:
            return False
        record = self.records.get(address)
        return record is None or (record.freed is not None and self._quarantine_is_over(record.freed))

    def _quarantine_is_over(self, freed: date) -> bool:
        return (self.today - freed).days >= self.quarantine_days

    def _oldest_tombstone(self, pool: Pool) -> str | None:
        """The pool is used up: the address that has been free for longest, with a note."""
        inside = [
            item
            for item in self.records.values()
            if item.freed is not None
            and item.version == pool.version
            and item.address not in self.answering
            and _is_in(pool, item.address)
        ]
        if not inside:
            return None
        oldest = min(inside, key=lambda item: (item.freed or self.today, address_order(item.address)))
        self.notes.append(
            f"{pool.name} is used up: {oldest.address}, free since {oldest.freed}, is given away before its "
            f"{self.quarantine_days} days are over"
        )
        return oldest.address

    def keep_foreign(self) -> None:
        """Record the addresses that answer and belong to nobody; a former owner that still answers is named."""
        for address in sorted(self.answering, key=lambda text: int(netaddr.IPAddress(text))):
            record = self.records.get(address)
            network = self._network_of(address)
            if (record is not None and record.freed is None) or network is None:
                continue
            owner = record.node if record is not None else FOREIGN
            self.records[address] = Allocation(address=address, network=network, node=owner, freed=self.today)
            who = f", formerly of {owner}," if owner != FOREIGN else ""
            self.notes.append(f"{address}{who} answers although no node has it; it is not given away")

    def _network_of(self, address: str) -> str | None:
        parsed = netaddr.IPAddress(address)
        for network in self.networks:
            prefix = prefix_of(network, parsed.version)
            if prefix and parsed in netaddr.IPNetwork(prefix):
                return network.name
        return None

    def _free(self, address: str) -> None:
        self.records[address] = self.records[address].model_copy(update={"freed": self.today})

    def _give(self, need: Need, address: str) -> None:
        self.records[address] = Allocation(address=address, network=need.network.name, node=need.node)
        self.held[need.key] = address

    def sorted(self) -> tuple[Allocation, ...]:
        """All records by address."""
        return tuple(sorted(self.records.values(), key=lambda item: address_order(item.address)))


def _is_in(pool: Pool, address: str) -> bool:
    value = address_order(address)[1]
    return value in pool.within and not any(value in part for part in pool.without)


def _is_allowed(address: str, need: Need) -> bool:
    version, value = address_order(address)
    if version != need.version or value not in usable(need.network, need.version):
        return False
    return not any(value in part for part in withheld(need.network, need.version))


def _check_kept(record: Allocation, need: Need) -> None:
    if need.pin == record.address or _is_allowed(record.address, need):
        return
    if need.pin is not None:
        return
    raise AddressError(
        f"{record.node} has {record.address} on {record.network}, which the network no longer allows",
        where=record.node,
        expected=f"a host address of {prefix_of(need.network, need.version)} that is no gateway and not reserved",
        found=record.address,
        hint="a node is never renumbered silently: take the change back, or pin a new address in the rack file",
    )


def _check_pin(need: Need) -> None:
    """A pin may lie in a reserved range (that is what they are for), but must be a host address and no gateway."""
    pin, network = str(need.pin), need.network
    value = address_order(pin)[1]
    gateway = network.gateway if need.version == 4 else network.gateway_v6
    is_in_dhcp_pool = need.version == 4 and any(value in part for part in dhcp_range(network))
    if value not in usable(network, need.version) or pin == gateway or is_in_dhcp_pool:
        raise AddressError(
            f"{need.node} pins {pin} on {network.name}",
            where=need.node,
            expected=f"a host address of {prefix_of(network, need.version)} other than the gateway",
            found=f"{pin}, the gateway" if pin == gateway else f"{pin}, in dhcp_pool" if is_in_dhcp_pool else pin,
        )
