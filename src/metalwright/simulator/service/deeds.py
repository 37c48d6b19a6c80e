"""Carries out what rules say about one request."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from metalwright.simulator.faults import Fault
from metalwright.simulator.rules import WRITES, Do, Edit, Tag, apply_edits, error_object

FOREVER_S = 3600.0


@dataclass
class Ask:
    """One request on its way to a resource; rules may change it."""

    method: str
    path: str
    query: str
    headers: CIMultiDict[str]
    body: bytes
    remote: str


class TagCounters:
    """Reads and bumps of tagged resources of one BMC."""

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        self.bumped: set[str] = set()


class Deeds:
    """All rules that bite one request, together."""

    def __init__(self, faults: Sequence[Fault], counters: TagCounters) -> None:
        self._does = [fault.act() for fault in faults]
        self._counters = counters

    @property
    def log_out(self) -> bool:
        """Whether all sessions end."""
        return any(do.log_out for do in self._does)

    def closes(self, when: str) -> bool:
        """Whether the connection is closed ``before`` or ``after`` the service acted."""
        return any(do.close == when for do in self._does)

    @property
    def has_own_answer(self) -> bool:
        """Whether a rule answers instead of the service."""
        return any(do.status is not None for do in self._does)

    @property
    def has_effect(self) -> bool:
        """Whether the service acts although a rule answers."""
        return any(do.effect for do in self._does if do.status is not None)

    async def wait(self) -> None:
        """Be late, or silent until the client gives up."""
        delay_s = sum(do.delay_s for do in self._does)
        if any(do.silent for do in self._does):
            delay_s = FOREVER_S
        if delay_s:
            await asyncio.sleep(delay_s)

    def change_request(self, ask: Ask) -> None:
        """Apply ``request_headers`` and ``request``."""
        for do in self._does:
            for name, value in do.request_headers.items():
                ask.headers.popall(name, None)
                if value is not None:
                    ask.headers[name] = value
        edits: list[Edit] = [edit for do in self._does for edit in do.request]
        if edits:
            ask.body = json.dumps(apply_edits(_parse(ask.body), edits)).encode()

    def own_answer(self) -> web.Response:
        """The answer of the last rule that gives one."""
        do = [do for do in self._does if do.status is not None][-1]
        text = do.answer_text()
        if not text:
            return web.Response(status=do.status or 500)
        return web.Response(status=do.status or 500, text=text, content_type=do.content_type)

    # -- tags ------------------------------------------------------------------------------------------------------

    def judge_condition(self, ask: Ask) -> web.Response | None:
        """Refuse a conditional write as the tag rule says; when it may pass it loses its If-Match."""
        tag = self._tag()
        if tag is None or ask.method not in WRITES:
            return None
        if ask.path not in self._counters.bumped:
            self._counters.bumped.add(ask.path)
            self._counters.reads[ask.path] += tag.bump
        given = ask.headers.get("If-Match")
        ask.headers.popall("If-Match", None)
        if given is None:
            return _refuse(428, "PreconditionRequired") if tag.required else None
        if tag.accept is None or (tag.accept != "" and given != self._fill(tag.accept, ask.path)):
            return _refuse(412, "PreconditionFailed")
        return None

    def _put_tag(self, ask: Ask, tag: Tag, response: web.Response) -> None:
        self._counters.reads[ask.path] += 1
        lines = [] if tag.header is None else [tag.header] if isinstance(tag.header, str) else tag.header
        response.headers.popall("ETag", None)
        for line in lines:
            response.headers.add("ETag", self._fill(line, ask.path))
        body = _parse(response.body)
        if tag.body != "" and isinstance(body, dict):
            if tag.body is None:
                body.pop("@odata.etag", None)
            else:
                body["@odata.etag"] = self._fill(tag.body, ask.path)
            response.body = json.dumps(body).encode()

    def _tag(self) -> Tag | None:
        tags = [do.tag for do in self._does if do.tag is not None]
        return tags[-1] if tags else None

    def _fill(self, text: str, path: str) -> str:
        return text.replace("{n}", str(self._counters.reads[path]))

    # -- after the service -----------------------------------------------------------------------------------------

    def change_answer(self, ask: Ask, response: web.Response) -> None:
        """Apply tag, edits, headers and gzip to an answer."""
        tag = self._tag()
        if tag is not None and ask.method in ("GET", "HEAD") and response.status == 200:
            self._put_tag(ask, tag, response)
        edits = [edit for do in self._does for edit in do.edit]
        if edits and response.content_type == "application/json":
            response.body = json.dumps(apply_edits(_parse(response.body), edits)).encode()
        for do in self._does:
            _set_headers(response, do)
        if any(do.gzip for do in self._does) and isinstance(response.body, bytes):
            response.headers["Content-Encoding"] = "gzip"
            response.body = gzip.compress(response.body)

    @property
    def cut_bytes(self) -> int | None:
        """How much of the body is sent before the connection closes; None all of it."""
        cuts = [do.cut_bytes for do in self._does if do.cut_bytes is not None]
        return min(cuts) if cuts else None


def _set_headers(response: web.Response, do: Do) -> None:
    for name, value in do.headers.items():
        response.headers.popall(name, None)
        for line in [] if value is None else [value] if isinstance(value, str) else value:
            response.headers.add(name, line)


def _parse(body: object) -> Any:
    try:
        return json.loads(body) if isinstance(body, bytes) and body else {}
    except ValueError:
        return {}


def _refuse(status: int, key: str) -> web.Response:
    return web.json_response(error_object(f"Base.1.18.{key}"), status=status)
