"""One page of a collection, and the error objects that BMCs put where a resource should be. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from metalwright.redfish.inventory.resource import Resource, link_of

Member: TypeAlias = tuple[str, Mapping[str, Any] | None]
"""URI of a member, and its body where the collection held it whole."""


def members_of(page: Resource) -> tuple[list[Member], bool]:
    """(URI, body if the member is expanded) of one page, and whether the page has a Members property."""
    value = page.raw("Members")
    if isinstance(value, Mapping):
        value = [value] if link_of(value) else list(value.values())
    if not isinstance(value, list):
        return [], False
    members: list[Member] = []
    for item in value:
        uri = link_of(item)
        if uri is None:
            page.note(page.uri, "a member has no link")
            continue
        is_expanded = isinstance(item, Mapping) and ("@odata.type" in item or "Id" in item)
        members.append((uri, item if is_expanded else None))
    return members, True


def message_of(error: Any) -> str:
    """The BMC's own words in an error object, at most 200 characters."""
    entries = error.get("@Message.ExtendedInfo") if isinstance(error, Mapping) else None
    first = entries[0] if isinstance(entries, list) and entries else error
    if isinstance(first, Mapping):
        said = first.get("Message") or first.get("MessageId") or first.get("message") or first.get("code")
        return str(said)[:200]
    return str(first)[:200]


def says_gone(error: Any) -> bool:
    """Whether an error object means that there is no such resource."""
    text = repr(error)
    return any(word in text for word in ("ResourceMissingAtURI", "ResourceNotFound", "SYS403"))
