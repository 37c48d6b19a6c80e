"""One reading pass over a BMC: every URI at most once, collections page by page, within a read budget.

A resource that cannot be read is a problem of the report and never an exception, with three exceptions: the
login and the certificate (nothing more may be asked) and a BMC that stopped answering altogether.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from metalwright.errors import BmcAuthError, BmcCertificateError, BmcUnreachableError, RedfishError
from metalwright.model.report import Problem
from metalwright.redfish.inventory.reader import Reader
from metalwright.redfish.inventory.resource import Resource, link_of

DEFAULT_READ_BUDGET = 2000
"""Reads of one pass. The largest machine seen needs about 600."""

MAX_PAGES = 200
MAX_MEMBERS = 4096
SILENT_READS = 3
"""So many reads in a row without any answer mean that the BMC is gone, not slow."""

T = TypeVar("T")


@dataclass(frozen=True)
class Listing:
    """The members of a collection.

    ``is_known`` is false where the collection could not be read or names no members. ``unreadable`` are members
    that are listed and answer with an error other than 404: they exist, and nothing is known of them.
    ``is_complete`` is false when anything is missing: a page, a member, or members that the count promises.
    """

    uri: str | None
    resources: tuple[Resource, ...] = ()
    unreadable: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    is_known: bool = False
    is_complete: bool = False

    @property
    def present(self) -> tuple[Resource, ...]:
        """The members that are not empty slots."""
        return tuple(resource for resource in self.resources if not resource.is_absent)


@dataclass(frozen=True)
class _Missing:
    is_gone: bool


class Walk:
    """Reads resources through a :class:`Reader`, remembers them, and collects problems."""

    def __init__(self, reader: Reader, read_budget: int = DEFAULT_READ_BUDGET) -> None:
        self._reader = reader
        self._left = read_budget
        self._budget = read_budget
        self._answers: dict[str, asyncio.Future[Resource | _Missing]] = {}
        self._problems: dict[tuple[str, str], None] = {}
        self._silent = 0
        self._errors: dict[str, RedfishError] = {}

    def why(self, *uris: str | None) -> RedfishError | None:
        """Why the first of ``uris`` that could not be read was not readable."""
        keys = [uri.partition("#")[0].rstrip("/") for uri in uris if uri is not None]
        return next((self._errors[key] for key in keys if key in self._errors), None)

    @property
    def reads(self) -> int:
        """How many requests were made."""
        return self._budget - max(self._left, 0)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every problem once, in the order found."""
        return tuple(Problem(uri=uri, what=what) for uri, what in self._problems)

    def note(self, uri: str, what: str) -> None:
        """Keep a problem."""
        self._problems.setdefault((uri, what))

    async def resource(self, target: str | None) -> Resource | None:
        """The resource at a link target; ``None`` if there is no link or it cannot be read (a problem then)."""
        answer = await self._answer(target) if target is not None else None
        return answer if isinstance(answer, Resource) else None

    async def listing(self, target: str | None) -> Listing:
        """All members of the collection at a link target, read concurrently."""
        if target is None:
            return Listing(uri=None)
        members, is_known, is_complete = await self._members(target)
        answers = await together(self._member(member) for member in members)
        resources = tuple(answer for answer in answers if isinstance(answer, Resource))
        missing = [
            (uri, answer) for (uri, _), answer in zip(members, answers, strict=True) if not isinstance(answer, Resource)
        ]
        gone = tuple(uri for uri, answer in missing if isinstance(answer, _Missing) and answer.is_gone)
        unreadable = tuple(uri for uri, _ in missing if uri not in gone)
        if missing:
            self.note(target, f"{len(resources)} of {len(members)} members could be read")
        return Listing(target, resources, unreadable, gone, is_known, is_complete and not missing)

    async def linked(self, targets: Iterable[str]) -> Listing:
        """The resources behind a list of links, as if they were members of a collection."""
        uris = list({target.rstrip("/"): target for target in targets}.values())
        answers = await together(self._answer(uri) for uri in uris)
        resources = tuple(answer for answer in answers if isinstance(answer, Resource))
        missing = {uri: answer for uri, answer in zip(uris, answers, strict=True) if isinstance(answer, _Missing)}
        gone = tuple(uri for uri, answer in missing.items() if answer.is_gone)
        unreadable = tuple(uri for uri, answer in missing.items() if not answer.is_gone)
        return Listing(None, resources, unreadable, gone, is_known=True, is_complete=not missing)

    async def _member(self, member: tuple[str, Mapping[str, Any] | None]) -> Resource | _Missing:
        uri, inline = member
        return Resource(uri, inline, self.note) if inline is not None else await self._answer(uri)

    async def _members(self, target: str) -> tuple[list[tuple[str, Mapping[str, Any] | None]], bool, bool]:
        members: dict[str, tuple[str, Mapping[str, Any] | None]] = {}
        promised: int | None = None
        seen: set[str] = set()
        page: str | None = target
        is_known = is_complete = True
        while page is not None and len(seen) < MAX_PAGES and len(members) < MAX_MEMBERS:
            seen.add(page)
            answer = await self._answer(page)
            if not isinstance(answer, Resource):
                is_known, is_complete = is_known and page != target, False
                break
            promised = promised if promised is not None else answer.count("Members@odata.count")
            found, says_members = _members_of(answer)
            if not says_members and promised != 0:
                self.note(page, "the collection lists no Members")
                is_known, is_complete = is_known and page != target, False
            for uri, body in found:
                members.setdefault(uri.rstrip("/"), (uri, body))
            next_page = answer.raw("Members@odata.nextLink") or answer.raw("@odata.nextLink")
            page = link_of(next_page)
            if next_page and page is None:
                self.note(target, f"the next page is no link on this BMC: {str(next_page)[:100]}")
                is_complete = False
            is_complete = is_complete and answer.raw("error") is None
            if page in seen:
                self.note(target, f"the pages loop at {page}")
                is_complete, page = False, None
        if page is not None and is_complete:
            self.note(target, "the collection does not end")
            is_complete = False
        if is_known and promised is not None and len(members) < promised:
            self.note(target, f"the count says {promised} members, {len(members)} different ones are listed")
            is_complete = False
        return list(members.values()), is_known, is_complete

    async def _answer(self, target: str) -> Resource | _Missing:
        path = target.partition("#")[0]
        key = path.rstrip("/")
        known = self._answers.get(key)
        if known is not None:
            return await asyncio.shield(known)
        future: asyncio.Future[Resource | _Missing] = asyncio.get_running_loop().create_future()
        self._answers[key] = future
        try:
            answer = await self._read(path)
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else asyncio.CancelledError())
            future.exception()
            raise
        future.set_result(answer)
        return answer

    async def _read(self, path: str) -> Resource | _Missing:
        if self._left <= 0:
            self.note("/redfish/v1", f"the read budget of {self._budget} requests is used up: the rest is unknown")
            return _Missing(is_gone=False)
        self._left -= 1
        try:
            body = await self._reader.get(path)
        except (BmcAuthError, BmcCertificateError):
            raise
        except BmcUnreachableError as error:
            self._silent += 1
            if self._silent >= SILENT_READS:
                raise
            self._keep(path, error)
            return _Missing(is_gone=False)
        except RedfishError as error:
            self._silent = 0
            self._keep(path, error)
            return _Missing(is_gone=error.status in (404, 410))
        self._silent = 0
        return self._resource(path, body)

    def _keep(self, path: str, error: RedfishError) -> None:
        self._errors[path.rstrip("/")] = error
        self.note(path, error.brief)

    def _resource(self, path: str, body: Mapping[str, Any]) -> Resource | _Missing:
        if "error" in body:
            if not any(name not in ("error", "__not_json__") and not name.startswith("@") for name in body):
                self.note(path, f"answers with an error object: {_message_of(body['error'])}")
                return _Missing(is_gone=_is_gone(body["error"]))
            self.note(path, f"answers in part, with an error: {_message_of(body['error'])}")
        return Resource(path, body, self.note)


def _members_of(page: Resource) -> tuple[list[tuple[str, Mapping[str, Any] | None]], bool]:
    """(URI, body if the member is expanded) of one page, and whether the page has a Members property."""
    value = page.raw("Members")
    if isinstance(value, Mapping):
        value = [value] if link_of(value) else list(value.values())
    if not isinstance(value, list):
        return [], False
    members: list[tuple[str, Mapping[str, Any] | None]] = []
    for item in value:
        uri = link_of(item)
        if uri is None:
            page.note(page.uri, "a member has no link")
            continue
        is_expanded = isinstance(item, Mapping) and ("@odata.type" in item or "Id" in item)
        members.append((uri, item if is_expanded else None))
    return members, True


def _message_of(error: Any) -> str:
    entries = error.get("@Message.ExtendedInfo") if isinstance(error, Mapping) else None
    first = entries[0] if isinstance(entries, list) and entries else error
    if isinstance(first, Mapping):
        said = first.get("Message") or first.get("MessageId") or first.get("message") or first.get("code")
        return str(said)[:200]
    return str(first)[:200]


def _is_gone(error: Any) -> bool:
    text = repr(error)
    return any(word in text for word in ("ResourceMissingAtURI", "ResourceNotFound", "SYS403"))


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently; the first failure cancels the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
