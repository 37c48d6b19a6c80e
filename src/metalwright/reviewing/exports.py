"""What an operator exports to a DHCP server, at both states, and how it differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metalwright.addressing import BootNetwork, DhcpNetwork, boot_network, dhcp_network
from metalwright.dhcp import TEMPLATES, render_dhcp
from metalwright.errors import AddressError, LoadingError
from metalwright.loading.trees import file_digests
from metalwright.model.rack import Rack
from metalwright.model.repository import SiteRepository
from metalwright.model.review import FileChange
from metalwright.reviewing.diffs import unified_diff

_TREE = ("templates/dhcp",)
_MEDIUM = "virtual-media"


def dhcp_changes(
    before: SiteRepository, after: SiteRepository, base_root: Path, head_root: Path
) -> Iterator[FileChange]:
    """The configurations that ``addresses export`` writes, where they differ; none where the site has no template.

    For the network that nodes boot from it is the whole of what can be exported: every node that may boot from it.
    """
    if _is_alike(before, after) and file_digests(base_root, _TREE) == file_digests(head_root, _TREE):
        return
    old, new = (dict(_exports(*side)) for side in ((before, base_root), (after, head_root)))
    for command in dict.fromkeys((*old, *new)):
        was, becomes = old.get(command, ""), new.get(command, "")
        if was != becomes:
            yield FileChange(path=command, written_by="export", node="", nodes=0, diff=unified_diff(was, becomes))


def _exports(repository: SiteRepository, root: Path) -> Iterator[tuple[str, str]]:
    """Each export: the words that make it, and its text; the error stands for what cannot be rendered."""
    templates = root / "templates"
    for whose, network in _networks(repository):
        for server, template in TEMPLATES.items():
            kind = "boot-" if isinstance(network, BootNetwork) else ""
            if not (templates / "dhcp" / f"{kind}{template}").exists():
                continue
            try:
                text = render_dhcp(templates, network, server)
            except LoadingError as error:
                text = f"{error.what}\n"
            yield f"addresses export --format {server}{whose}", text


def _networks(repository: SiteRepository) -> Iterator[tuple[str, DhcpNetwork | BootNetwork]]:
    yield "", dhcp_network(repository)
    nodes = [node.name for node in repository.nodes() if node.state != "retired" and _boots(repository, node.name)]
    if not nodes:
        return
    try:
        yield " --for boot", boot_network(repository, nodes)
    except AddressError:
        return  # a site without the network that its nodes would boot from


def _boots(repository: SiteRepository, node: str) -> bool:
    """Whether the node may boot from the network."""
    return any(method != _MEDIUM for method in repository.blueprint_of(node).boot.method)


def _is_alike(before: SiteRepository, after: SiteRepository) -> bool:
    """Whether a server would be told the same: a fleet is not rendered for nothing. Equal files are one object."""
    if (before.site, before.networks, before.addresses) != (after.site, after.networks, after.addresses):
        return False
    shared = before.blueprints.keys() & after.blueprints.keys()
    if any(before.blueprints[ref] is not after.blueprints[ref] for ref in shared):
        return False
    old, new = ({id(rack): rack for rack in state.racks} for state in (before, after))
    told = _told(before, [rack for key, rack in old.items() if key not in new])
    return told == _told(after, [rack for key, rack in new.items() if key not in old])


def _told(repository: SiteRepository, racks: list[Rack]) -> list[object]:
    """What a DHCP server learns of the nodes of these racks, but for their addresses."""
    return [
        (node.name, node.bmc_mac, node.ports, node.state == "retired", blueprint.network, blueprint.boot.method)
        for rack in racks
        for node in rack.nodes
        for blueprint in (repository.blueprint_of(node.name),)
    ]
