"""What the inventory reader needs from the outside: one method. Live BMCs and captured trees both provide it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.failures import NOT_OFFERED, ODD_ANSWER


class Reader(Protocol):
    """Reads one resource. ``metalwright.redfish.AsyncClient`` is one, :class:`CapturedTree` another."""

    async def get(self, path: str) -> Mapping[str, Any]:
        """The JSON object at ``path`` (``/redfish/v1/…``, with query if a page link has one).

        Raises:
            BmcRefusedError: a well-formed refusal; ``status`` 404 means that the resource is not there.
            BmcAnswerError: an answer that is no JSON object.
            BmcUnreachableError, BmcAuthError, BmcCertificateError: the exchange itself failed.
        """
        ...


class CapturedTree:
    """A Redfish tree in memory: URI → body, as a capture file holds it.

    A body ``{"__not_json__": text}`` stands for an answer that was not JSON. Links of some BMCs differ from the
    URIs that they serve in letter case and in a trailing slash (iLO 5 and 6), and those BMCs answer either form;
    the tree does the same. ``reads`` counts what was asked.
    """

    def __init__(self, bodies: Mapping[str, Any]) -> None:
        self._bodies = dict(bodies)
        self._loose = {_loose(uri): uri for uri in bodies}
        self.reads: list[str] = []

    @classmethod
    def load(cls, path: Path) -> CapturedTree:
        """Read a capture file: one JSON object, URI → body."""
        return cls(json.loads(path.read_text(encoding="utf-8")))

    async def get(self, path: str) -> Mapping[str, Any]:
        """See :meth:`Reader.get`; an unknown URI is a 404."""
        self.reads.append(path)
        uri = path if path in self._bodies else self._loose.get(_loose(path))
        if uri is None:
            raise BmcRefusedError("there is no such resource", where=f"GET {path}", status=404, hint=NOT_OFFERED)
        body = self._bodies[uri]
        if not isinstance(body, Mapping) or "__not_json__" in body:
            raise BmcAnswerError(
                "the answer is not a JSON object", where=f"GET {path}", found=type(body).__name__, hint=ODD_ANSWER
            )
        return body


def _loose(path: str) -> str:
    return path.rstrip("/").casefold()
