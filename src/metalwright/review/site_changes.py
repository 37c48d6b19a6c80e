"""Changes outside of blueprints and nodes: networks, the site's own settings, racks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metalwright.addressing import purposes_of
from metalwright.model.network import ALLOCATOR_KEYS
from metalwright.model.rack import Rack
from metalwright.model.repository import SiteRepository
from metalwright.model.review import SiteChange

_WORDS = {
    "cooling_kw": "cooling (kW)",
    "height_u": "height (units)",
    "breaker_a": "breaker (A)",
    "mtu": "MTU",
    "vlan": "VLAN",
    "admins": "people with an account on every node",
    "ntp": "time servers",
    "dns": "name servers",
    "apt": "package sources",
    "factory_credentials": "factory logins",
}


def networks_and_site(base: SiteRepository, head: SiteRepository) -> Iterator[SiteChange]:
    """Networks by name, then the keys of ``site.yaml``."""
    before = {network.name: network.to_json() for network in base.networks}
    after = {network.name: network.to_json() for network in head.networks}
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield from _network(name, before.get(name), after.get(name), _joining(head, name))
    old, new = base.site.to_json(), head.site.to_json()
    for key in new:
        words = _words(key)
        for what, was, becomes in _by_name(words, old.get(key), new[key]):
            yield SiteChange(
                section="Site", what=what, from_=_shown(was), to=_shown(becomes), nodes=len(head.nodes())
            )  # fmt: skip


def _joining(repository: SiteRepository, network: str) -> int:
    """How many nodes are on a network."""
    purposes = {item.purpose for item in repository.networks if item.name == network}
    joined = (purposes_of(node, repository.blueprints[node.blueprint]) for node in repository.nodes())
    return sum(not purposes.isdisjoint(names) for names in joined)


def _by_name(words: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The values that differ; of a list whose items have names, those items alone."""
    if old == new:
        return
    is_named = all(isinstance(side, list) and all(_name_of(item) for item in side) for side in (old, new))
    if not is_named:
        yield words, old, new
        return
    before, after = ({_name_of(item): item for item in side} for side in (old, new))
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    for name in names:
        was, becomes = ({k: v for k, v in side.get(name, {}).items() if k != "name"} for side in (before, after))
        yield f"{words}: {name}", was, becomes
    if not names:
        yield f"{words}: order", ", ".join(map(str, before)), ", ".join(map(str, after))


def _name_of(item: Any) -> str | None:
    return item.get("name") if isinstance(item, dict) else None


def _words(key: str) -> str:
    return _WORDS.get(key, key.replace("_", " "))


def racks_without_nodes(base: SiteRepository, head: SiteRepository) -> Iterator[SiteChange]:
    """What a rack itself is: feeds, cooling, height, switches. Its nodes are compared one by one."""
    before, after = ({rack.name: rack for rack in side.racks} for side in (base, head))
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if old is None and new is not None:
            yield SiteChange(
                section="Rack", what=f"{name} is new", to=f"{len(new.nodes)} node(s)", nodes=len(new.nodes)
            )
        elif new is None and old is not None:
            yield SiteChange(section="Rack", what=f"{name} is gone", from_=f"{len(old.nodes)} node(s)")
        elif old is not None and new is not None and old is not new:
            yield from _rack(old, new)


def _network(name: str, old: Any, new: Any, nodes: int) -> Iterator[SiteChange]:
    if old is None or new is None:
        yield SiteChange(
            section="Network", what=f"{name} is {'new' if old is None else 'gone'}", from_=old and _network_text(old),
            to=new and _network_text(new), nodes=0 if old is None else nodes,
        )  # fmt: skip
        return
    for key in new:
        if old.get(key) != new[key]:
            yield SiteChange(
                section="Network", what=f"{name}: {_words(key)}", from_=_shown(old.get(key)),
                to=_shown(new[key]), nodes=0 if key in ALLOCATOR_KEYS else nodes,
            )  # fmt: skip


def _network_text(network: dict[str, Any]) -> str:
    vlan = f"VLAN {network['vlan']}, " if network.get("vlan") else ""
    return f"{network['purpose']}, {vlan}{network['prefix']}"


def _rack(old: Rack, new: Rack) -> Iterator[SiteChange]:
    before, after = old.to_json(), new.to_json()
    count = len(new.nodes)
    for key, noun, nodes in (("feeds", "feed", count), ("switches", "switch", count), ("equipment", "equipment", 0)):
        yield from _parts(new, noun, before.pop(key), after.pop(key), nodes)
    for key in after:
        if key not in ("nodes", "schema", "name") and before[key] != after[key]:
            yield SiteChange(
                section="Rack", what=f"{new.name}: {_words(key)}", from_=_shown(before[key]),
                to=_shown(after[key]), nodes=len(new.nodes),
            )  # fmt: skip


def _parts(rack: Rack, noun: str, before: Any, after: Any, nodes: int) -> Iterator[SiteChange]:
    """Feeds, switches or equipment, by name and value; ``nodes`` are those that a change is felt by."""
    old, new = ({item["name"]: item for item in items} for items in (before, after))
    for name in dict.fromkeys((*old, *new)):
        was, becomes = old.get(name, {}), new.get(name, {})
        for key in dict.fromkeys((*was, *becomes)):
            if was.get(key) != becomes.get(key) and key != "name":
                yield SiteChange(
                    section="Rack",
                    what=f"{rack.name}: {noun} {name}, {_words(key)}",
                    from_=_shown(was.get(key)),
                    to=_shown(becomes.get(key)),
                    nodes=nodes,
                )


def _shown(value: Any) -> str | None:
    """A value on one line; references to secrets are names, never the secret."""
    if value is None or value in ([], {}, ""):
        return None
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(item)}" for key, item in value.items() if item not in (None, [], {}, ""))
    if isinstance(value, list):
        return "; ".join(str(_shown(item)) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
