"""Collections: all members over all pages, and in what way a collection is not complete."""

from __future__ import annotations

from dataclasses import dataclass, field

from metalwright.redfish.dialogue import read
from metalwright.redfish.messages import messages_in
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange, JsonObject


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a collection: its URI, and its body when the collection held it whole."""

    uri: str
    body: JsonObject | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """The members of a collection. ``problems`` says why it is not complete; empty means complete."""

    uri: str
    members: tuple[Member, ...]
    problems: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every member that the BMC announced is here."""
        return not self.problems

    @property
    def uris(self) -> tuple[str, ...]:
        """The URIs of the members, in the order of the BMC."""
        return tuple(member.uri for member in self.members)


def list_members(state: BmcState, path: str, first: JsonObject | None = None) -> Exchange[Collection]:
    """Return the members of the collection at ``path``, over all pages, without reading members that are links.

    ``first`` is the first page, where the caller has read it. What is missing, repeated or odd is told in
    ``problems``; a page that points back to an earlier one ends the walk.
    """
    members: dict[str, Member] = {}
    problems: list[str] = []
    seen: set[str] = set()
    page_uri: str | None = path
    expected: int | None = None
    listed = 0
    while page_uri is not None:
        seen.add(page_uri)
        page, first = first, None
        if page is None:
            page = yield from read(state, page_uri)
        expected = _count(page) if expected is None else expected
        listed += _take_members(page, members, problems)
        page_uri = _next_page(page)
        is_endless = len(seen) >= state.limits.pages or len(members) > state.limits.members
        if page_uri is not None and (page_uri in seen or is_endless):
            problems.append(f"the page link {page_uri} leads back or never ends")
            page_uri = None
    if len(members) > state.limits.members:
        problems.append(f"more than {state.limits.members} members are listed: the rest is left out")
        members = dict(list(members.items())[: state.limits.members])
    if expected is not None and expected not in (len(members), listed):
        problems.append(f"the BMC announced {expected} members and listed {listed}")
    return Collection(path, tuple(members.values()), tuple(problems))


def _count(page: JsonObject) -> int | None:
    value = page.get("Members@odata.count")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _take_members(page: JsonObject, members: dict[str, Member], problems: list[str]) -> int:
    """Add the members of one page and return how many it lists; a single object stands for a list of one."""
    listed = page.get("Members")
    entries = listed if isinstance(listed, list) else [listed] if isinstance(listed, dict) else []
    if listed is None:
        problems.append("the collection has no Members")
    if "error" in page:
        texts = [message.id or message.text for message in messages_in(page)]
        problems.append(f"the collection carries an error: {', '.join(texts) or 'without text'}")
    for entry in entries:
        uri = entry.get("@odata.id") if isinstance(entry, dict) else None
        if not isinstance(uri, str) or not uri:
            problems.append("a member has no @odata.id")
            continue
        body = entry if len([key for key in entry if not key.startswith("@")]) > 0 else None
        members.setdefault(uri.rstrip("/").lower(), Member(uri, body))
    return len(entries)


def _next_page(page: JsonObject) -> str | None:
    for key in ("Members@odata.nextLink", "@odata.nextLink"):
        link = page.get(key)
        if isinstance(link, dict):
            link = link.get("@odata.id")
        if isinstance(link, str) and link:
            return link
    return None
