"""Where the BMC of a node is: where it answered last, where it shall be, where the rack file says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from metalwright.errors import AddressError
from metalwright.model.rack import Racked
from metalwright.model.repository import SiteRepository


@dataclass(frozen=True, slots=True)
class Place:
    """Host and port of a BMC."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """``https://host:port``, with brackets around an IPv6 address."""
        return f"https://[{self.host}]:{self.port}" if ":" in self.host else f"https://{self.host}:{self.port}"

    def __str__(self) -> str:
        return self.url.removeprefix("https://")


class SeenAddress(Protocol):
    """Where a BMC answered last."""

    @property
    def address(self) -> str:
        """IP address."""
        ...

    @property
    def port(self) -> int:
        """TCP port."""
        ...


class AddressBook(Protocol):
    """Remembers where the BMC of each node answered last; the journal is one."""

    def get(self, node: str) -> SeenAddress | None:
        """Where the BMC of ``node`` answered last."""
        ...


def places_of(repository: SiteRepository, book: AddressBook, node: Racked) -> tuple[Place, ...]:
    """Every place where the node's BMC may be, the best first."""
    port = node.bmc_port or repository.site.redfish.port
    seen = book.get(node.name)
    found = [Place(seen.address, seen.port)] if seen is not None else []
    network = repository.network_of_purpose("oob-management")
    allocated = repository.addresses.of_node(node.name).get(network.name) if network is not None else None
    found += [Place(address, port) for address in (allocated, node.bmc_address) if address is not None]
    return tuple(dict.fromkeys(found))


def known_places_of(repository: SiteRepository, book: AddressBook, node: Racked) -> tuple[Place, ...]:
    """The same, and at least one.

    Raises:
        AddressError: nobody knows; the hint names ``discover``.
    """
    places = places_of(repository, book, node)
    if not places:
        raise AddressError(
            "nobody knows where the BMC of this node is",
            where=node.name,
            expected="an address in the journal, in addresses.lock, or bmc_address in the rack file",
            hint="metalwright discover finds it; metalwright addresses allocate gives it an address",
        )
    return places
