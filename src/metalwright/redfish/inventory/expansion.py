"""``$expand``: all members of a collection in one answer, where the BMC offers it and it proves to be true. Pure.

What is advertised is not always kept: AMI's firmware for GB300 drops required properties of expanded members (NVIDIA
nv-redfish, ``bmc_quirks.rs``), others ignore the query. So one member of each kind of collection is read by itself as
well, and its properties must all be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MIN_MEMBERS = 4
"""Below this, expanding and checking cost as many reads as the members."""


def expand_query(root: Mapping[str, Any]) -> str | None:
    """The query that expands a collection by one level, ``None`` where the service root does not offer it."""
    features = root.get("ProtocolFeaturesSupported")
    offered = features.get("ExpandQuery") if isinstance(features, dict) else None
    if not isinstance(offered, dict) or not (offered.get("NoLinks") is True or offered.get("ExpandAll") is True):
        return None
    which = "." if offered.get("NoLinks") is True else "*"
    return f"$expand={which}($levels=1)" if offered.get("Levels") is True else f"$expand={which}"


def kind_of(collection_uri: str) -> str:
    """What is verified once: ``Memory``, ``Processors``, ``Ports``."""
    return collection_uri.partition("?")[0].rstrip("/").rpartition("/")[2]


def expanded_members(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """URI → body of the members that were really expanded."""
    members = body.get("Members")
    found = [item for item in members if isinstance(item, dict)] if isinstance(members, list) else []
    return {
        uri.rstrip("/"): item
        for item in found
        if isinstance(uri := item.get("@odata.id"), str) and any(not name.startswith("@") for name in item)
    }


def is_true_to(expanded: Mapping[str, Any], alone: Mapping[str, Any]) -> bool:
    """Whether the expanded form of a member has every property that it has when it is read by itself."""
    return all(
        name in expanded and (expanded[name] is not None or value is None)
        for name, value in alone.items()
        if "@" not in name
    )
