"""One reading pass over a BMC: every URI at most once, collections page by page, within a read budget.

A resource that cannot be read is a problem of the report and never an exception, with three exceptions: the
login and the certificate (nothing more may be asked) and a BMC that stopped answering altogether.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from metalwright.errors import BmcAuthError, BmcCertificateError, BmcUnreachableError, RedfishError
from metalwright.model.report import Problem
from metalwright.redfish.inventory.expansion import (
    MIN_MEMBERS,
    expand_query,
    expanded_members,
    is_true_to,
    kind_of,
)
from metalwright.redfish.inventory.pages import Member, members_of, message_of, says_gone
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
        self._expand: str | None = None
        self._verified: set[str] = set()
        self._expansions: dict[str, asyncio.Task[dict[str, dict[str, Any]]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of all that was read: resources point back here, and a fleet would wait for the garbage collector."""
        self._answers.clear()
        self._expansions.clear()

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
        members = await self._expanded(target, members)
        answers = await self._all(members)
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

    def offer_expand(self, root: Resource) -> None:
        """Let collections be read in one answer, if the service root offers it."""
        self._expand = expand_query(root.body)

    async def _all(self, members: Sequence[Member]) -> list[Resource | _Missing]:
        """The resources of the members, in order; only those that are links are read."""
        waiting = [uri for uri, inline in members if inline is None]
        read = dict(zip(waiting, await together(map(self._answer, waiting)), strict=True)) if waiting else {}
        return [
            read[uri] if inline is None else self._known(uri) or Resource(uri, inline, self.note)
            for uri, inline in members
        ]

    async def _expanded(self, target: str, members: list[Member]) -> list[Member]:
        """The members with their bodies, where the BMC gives all of them in one answer and that proves true."""
        links = [uri for uri, inline in members if inline is None]
        if target not in self._expansions:
            if self._expand is None or len(links) < MIN_MEMBERS or self._left <= len(links):
                return members
            self._expansions[target] = asyncio.create_task(self._true_bodies(target, links, self._expand))
        bodies = await asyncio.shield(self._expansions[target])
        return [(uri, inline or bodies.get(uri.rstrip("/"))) for uri, inline in members]

    async def _true_bodies(self, target: str, links: Sequence[str], query: str) -> dict[str, dict[str, Any]]:
        """URI → body of the expanded members; nothing if that fails, or if one read by itself shows more."""
        kind = kind_of(target)
        self._left -= 1
        whole, sample = await asyncio.gather(
            self._reader.get(f"{target.partition('?')[0]}?{query}"),
            self._nothing() if kind in self._verified else self._answer(links[-1]),
            return_exceptions=True,
        )
        for outcome in (whole, sample):
            if isinstance(outcome, BaseException) and not (outcome is whole and _is_refusal(outcome)):
                raise outcome
        bodies = {} if isinstance(whole, BaseException) else expanded_members(whole)
        if isinstance(sample, Resource) and is_true_to(bodies.get(links[-1].rstrip("/"), {}), sample.body):
            self._verified.add(kind)
        if kind not in self._verified or not bodies:
            self._expand = None
            return {}
        for uri in links:
            self._remember(uri, bodies.get(uri.rstrip("/")))
        return bodies

    async def _nothing(self) -> None:
        """Stands where no sample is needed."""

    def _remember(self, uri: str, body: Mapping[str, Any] | None) -> None:
        """A body that came expanded counts as read."""
        key = uri.rstrip("/")
        if body is not None and key not in self._answers:
            future: asyncio.Future[Resource | _Missing] = asyncio.get_running_loop().create_future()
            future.set_result(self._resource(uri, body))
            self._answers[key] = future

    def _known(self, uri: str) -> Resource | None:
        """The resource if it was read already."""
        future = self._answers.get(uri.rstrip("/"))
        answer = future.result() if future is not None and future.done() and not future.cancelled() else None
        return answer if isinstance(answer, Resource) else None

    async def _members(self, target: str) -> tuple[list[Member], bool, bool]:
        members: dict[str, Member] = {}
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
            found, says_members = members_of(answer)
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
                self.note(path, f"answers with an error object: {message_of(body['error'])}")
                return _Missing(is_gone=says_gone(body["error"]))
            self.note(path, f"answers in part, with an error: {message_of(body['error'])}")
        return Resource(path, body, self.note)


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently; the first failure cancels the others and is raised alone."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(coroutine) for coroutine in coroutines]
    except BaseExceptionGroup as failures:
        raise _first(failures) from None
    return [task.result() for task in tasks]


def _is_refusal(outcome: BaseException) -> bool:
    """Whether the BMC cannot do what was asked, so that another way may do."""
    return isinstance(outcome, RedfishError) and not isinstance(outcome, BmcAuthError | BmcCertificateError)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
