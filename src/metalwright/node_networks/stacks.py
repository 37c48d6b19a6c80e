"""What configures the networks of each operating system, and where its files are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from metalwright.model.image import OperatingSystem
from metalwright.model.repository import SiteRepository
from metalwright.node_files import NodeFile
from metalwright.node_networks import netplan, network_manager, networkd
from metalwright.node_networks.attachments import Attachment, attachments


@dataclass(frozen=True)
class NetworkStack:
    """Files of ours are in ``directory`` and fit ``pattern``: what fits and is not wanted is removed, on trial."""

    name: str
    directory: str
    pattern: str
    files: Callable[[Iterable[Attachment]], Iterator[NodeFile]]


STACKS: Final[Mapping[str, NetworkStack]] = {
    stack.name: stack
    for stack in (
        NetworkStack("systemd-networkd", networkd.DIRECTORY, "[1-8][0-9]-*", networkd.files),
        NetworkStack("netplan", netplan.DIRECTORY, "*.yaml", netplan.files),
        NetworkStack("NetworkManager", network_manager.DIRECTORY, "[1-8][0-9]-*", network_manager.files),
    )
}
"""By name. netplan reads every file of its directory as one, so those of others do not stay beside ours."""

_STACK_OF: Final[Mapping[OperatingSystem, str]] = {
    "debian-12": "systemd-networkd",
    "ubuntu-22.04": "netplan",
    "ubuntu-24.04": "netplan",
    "rocky-9": "NetworkManager",
}


def stack_of(repository: SiteRepository, node: str) -> NetworkStack:
    """What configures the networks on the operating system of the node's image."""
    return STACKS[_STACK_OF[repository.blueprint_of(node).image.os]]


def network_files(repository: SiteRepository, node: str) -> tuple[NodeFile, ...]:
    """The files that give a node its networks; templates are those of ``templates/seed``.

    Raises:
        ImageError: the node has no address on a network that it needs.
    """
    return tuple(stack_of(repository, node).files(attachments(repository, node)))
