"""The vocabulary of faults: which requests (``when``) and what happens to them (``do``). Pure data and pure functions.

A rule is a :class:`~metalwright.simulator.faults.Fault` of the name ``rule``::

    name: rule
    method: PATCH                         # which requests: method, path (a regular expression searched in it),
    path: Systems/1/Bios/Settings$        # skip, times, every, and further conditions
    when: {header: {If-Match: null}}      # null: the request has no such header
    do: {status: 428, message: Base.1.8.PreconditionRequired}

All rules that fit a request act together, in the order in which they were set; a later one wins where two say the
same thing. The README of each word is the docstring of its class below.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

WRITES = ("POST", "PATCH", "PUT", "DELETE")


def _as_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return text


Expression = Annotated[str, AfterValidator(_as_expression)]
"""A regular expression; one that is none is refused when the fault is set, not at the request that it meets."""


class _Words(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Incoming:
    """One request as rules see it. ``token_requests`` and ``connection_requests`` count this one as well."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    connection_requests: int = 1
    token_requests: int = 0
    open_sessions: int = 0


class Requests(_Words):
    """Some requests: ``method`` and ``path`` as in a fault; ``count`` of them make the condition true."""

    method: str | None = None
    path: Expression | None = None
    count: int = Field(default=1, ge=1)

    def fits(self, method: str, path: str) -> bool:
        """Whether a request is one of them."""
        return (self.method is None or self.method == method) and (
            self.path is None or re.search(self.path, path) is not None
        )


class When(_Words):
    """Further conditions; all that are given must hold.

    ``header``            name → regular expression searched in its value, or null: no such header
    ``header_not``        name → regular expression that must not be found (a missing header is fine)
    ``query``, ``body``   regular expressions; ``body_not`` must not be found in the body
    ``after``, ``before`` that many such requests came since the fault was set (this one not counted)
    ``connection_request`` every n-th request of a connection
    ``token_requests_over`` the token was used more often than this
    ``open_sessions``     at least that many sessions are open
    """

    header: dict[str, Expression | None] = {}
    header_not: dict[str, Expression] = {}
    query: Expression | None = None
    body: Expression | None = None
    body_not: Expression | None = None
    after: Requests | None = None
    before: Requests | None = None
    connection_request: int | None = Field(default=None, ge=1)
    token_requests_over: int | None = Field(default=None, ge=0)
    open_sessions: int | None = Field(default=None, ge=0)

    def holds(self, request: Incoming, seen_after: int, seen_before: int) -> bool:
        """Whether the request meets the conditions; ``seen_*`` count the requests of ``after`` and ``before``."""
        return (
            self._headers_fit(request.headers)
            and (self.query is None or re.search(self.query, request.query) is not None)
            and (self.body is None or re.search(self.body, request.body) is not None)
            and (self.body_not is None or re.search(self.body_not, request.body) is None)
            and (self.after is None or seen_after >= self.after.count)
            and (self.before is None or seen_before < self.before.count)
            and (self.connection_request is None or request.connection_requests % self.connection_request == 0)
            and (self.token_requests_over is None or request.token_requests > self.token_requests_over)
            and (self.open_sessions is None or request.open_sessions >= self.open_sessions)
        )

    def _headers_fit(self, headers: Mapping[str, str]) -> bool:
        for name, wanted in self.header.items():
            value = headers.get(name)
            if (wanted is None) != (value is None):
                return False
            if wanted is not None and value is not None and re.search(wanted, value) is None:
                return False
        return not any(name in headers and re.search(text, headers[name]) for name, text in self.header_not.items())


class Edit(_Words):
    """One change of a JSON body. ``at`` is a JSON pointer; ``*`` stands for every member, "" for the whole body.

    ``set`` puts a value there (missing objects on the way are made), ``drop`` removes it, ``merge`` adds properties,
    ``keep`` leaves the first n members of a list, ``append`` adds members, ``repeat`` shows every member n times,
    ``rename`` gives the property another name.
    """

    at: str = Field(default="", pattern="^(/|$)")
    set: Any = None
    drop: bool = False
    merge: dict[str, Any] | None = None
    keep: int | None = Field(default=None, ge=0)
    append: list[Any] | None = None
    repeat: int | None = Field(default=None, ge=2)
    rename: str | None = None


class Tag(_Words):
    """How a resource is tagged and what it asks of a conditional write; replaces the service's own ETags.

    ``header`` is what reads answer as ETag: a text, a list (one header line each) or null (none). ``body`` is put as
    ``@odata.etag`` ("" leaves the service's own, null removes it). ``accept`` is the one If-Match that a write needs;
    null: no If-Match is accepted at all, "": any. ``required``: a write without If-Match is answered with 428.
    ``{n}`` in a text is the number of reads of the resource so far plus ``bump``, which is added once, just before
    the first write. Writes that may pass go to the service without If-Match.
    """

    header: str | list[str] | None = None
    body: str | None = ""
    accept: str | None = ""
    required: bool = False
    bump: int = 0


class Do(_Words):
    """What happens; everything that is left out stays as the service does it.

    before the service: ``delay_s`` · ``silent`` (no answer ever) · ``close: before`` (the connection is closed, without
    effect) · ``request_headers`` (name → value, or null: removed) · ``request`` (edits of the JSON body) · ``tag``

    instead of the service: ``status``, with ``body`` (text as it is, anything else as JSON), ``message`` (an error
    object with this MessageId), ``content_type``; with ``effect`` the service acts first and its answer is thrown away

    after the service: ``edit`` (edits of the JSON answer) · ``headers`` (name → value, list of values for repeated
    lines, or null: removed) · ``gzip`` · ``cut_bytes`` (only so many bytes of the body, then the connection closes) ·
    ``close: after`` (with effect, no answer) · ``log_out`` (all sessions end)
    """

    delay_s: float = Field(default=0.0, ge=0)
    silent: bool = False
    close: Literal["before", "after"] | None = None
    request_headers: dict[str, str | None] = {}
    request: list[Edit] = []
    tag: Tag | None = None
    status: int | None = Field(default=None, ge=100, le=599)
    body: Any = None
    message: str | None = None
    content_type: str = "application/json"
    effect: bool = False
    edit: list[Edit] = []
    headers: dict[str, str | list[str] | None] = {}
    gzip: bool = False
    cut_bytes: int | None = Field(default=None, ge=0)
    log_out: bool = False

    def answer_text(self) -> str:
        """The body of an answer that is given instead of the service's."""
        if "body" in self.model_fields_set:
            return self.body if isinstance(self.body, str) else json.dumps(self.body)
        if self.status is not None and self.status < 400 and self.message is None:
            return ""
        return json.dumps(error_object(self.message or "Base.1.18.GeneralError"))


def error_object(message_id: str) -> dict[str, Any]:
    """The error object of Redfish with one message."""
    text = f"The BMC answers {message_id.rsplit('.', 1)[-1]}."
    info = {"MessageId": message_id, "Message": text, "MessageArgs": [], "Severity": "Critical", "Resolution": "None."}
    return {"error": {"code": message_id, "message": text, "@Message.ExtendedInfo": [info]}}


def apply_edits(body: Any, edits: Sequence[Edit]) -> Any:
    """A copy of ``body`` with all edits made; a pointer that leads nowhere is passed over (but for ``set``)."""
    box = {"": copy.deepcopy(body)}
    for edit in edits:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in edit.at.split("/")[1:]]
        for holder, key in list(_places(box, "", parts, make="set" in edit.model_fields_set)):
            _edit_place(holder, key, edit)
    return box[""]


def _places(holder: Any, key: Any, parts: Sequence[str], *, make: bool) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) that a pointer means."""
    if not parts:
        yield holder, key
        return
    inner = holder[key] if _has(holder, key) else None
    if inner is None and make and isinstance(holder, dict):
        inner = holder[key] = {}
    first, rest = parts[0], parts[1:]
    if first == "*":
        keys: Sequence[Any] = list(inner) if isinstance(inner, dict) else range(len(inner or []))
        for each in reversed(list(keys)):
            yield from _places(inner, each, rest, make=make)
    elif isinstance(inner, list) and first.isdecimal():
        yield from _places(inner, int(first), rest, make=make)
    elif isinstance(inner, dict):
        yield from _places(inner, first, rest, make=make)


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _edit_place(holder: Any, key: Any, edit: Edit) -> None:
    if "set" in edit.model_fields_set:
        if isinstance(holder, dict) or _has(holder, key):
            holder[key] = copy.deepcopy(edit.set)
        return
    if not _has(holder, key):
        return
    value = holder[key]
    if edit.drop:
        del holder[key]
    elif edit.rename is not None and isinstance(holder, dict):
        holder[edit.rename] = holder.pop(key)
    elif edit.merge is not None and isinstance(value, dict):
        value.update(copy.deepcopy(edit.merge))
    elif isinstance(value, list):
        holder[key] = _edit_list(value, edit)


def _edit_list(items: list[Any], edit: Edit) -> list[Any]:
    kept = items[: edit.keep] if edit.keep is not None else items
    repeated = [copy.deepcopy(item) for item in kept for _ in range(edit.repeat or 1)]
    return repeated + copy.deepcopy(edit.append or [])
