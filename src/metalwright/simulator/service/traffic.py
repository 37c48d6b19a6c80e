"""What a BMC saw: every request, counted and (the last ones) recorded. The judge's view, without secrets."""

from __future__ import annotations

import json
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KEEP = 5000
_CONNECTIONS = 256
_HEADERS = ("If-Match", "If-None-Match", "Accept-Encoding", "Content-Type", "Connection")
_SECRET_WORDS = ("password", "secret", "token", "key")


@dataclass(slots=True)
class Record:
    """One request. ``status`` is 0 while there is no answer, or when the connection was closed instead.

    ``auth`` is "basic", "token" or "" (none); ``headers`` are those that matter; ``body`` is that of a write with
    secrets masked; ``seconds`` is from arrival to answer; ``faults`` are the names of those that bit.
    """

    number: int
    method: str
    path: str
    query: str
    auth: str
    headers: dict[str, str]
    body: Any
    connection: str
    status: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain data for the control port."""
        return asdict(self)


class Traffic:
    """Counters and the last ``keep`` records of one BMC. ``sends_password`` counts logins that were tried."""

    def __init__(self, keep: int = KEEP) -> None:
        self.records: deque[Record] = deque(maxlen=keep)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.total = 0
        self.logins = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self._connections: OrderedDict[str, int] = OrderedDict()

    def connect(self, connection: str) -> int:
        """Count one request on a connection; its number on that connection."""
        count = self._connections.pop(connection, 0) + 1
        self._connections[connection] = count
        if len(self._connections) > _CONNECTIONS:
            self._connections.popitem(last=False)
        return count

    def begin(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes, connection: str
    ) -> Record:
        """Count and record a request that arrived."""
        path = sys.intern(path)
        self.total += 1
        self.counts[method, path] += 1
        self.logins += method == "POST" and path.rstrip("/").endswith("/SessionService/Sessions")
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        kept = {name: headers[name] for name in _HEADERS if name in headers}
        record = Record(
            self.total, method, path, query, _auth(headers), kept, _show(body) if body else None, connection
        )
        self.records.append(record)
        return record

    def end(self, record: Record, seconds: float, status: int) -> None:
        """The request was answered (or given up: status 0)."""
        self.in_flight -= 1
        record.seconds, record.status = seconds, status

    def of(self, method: str | None = None, path_end: str = "") -> list[Record]:
        """The records with this method whose path ends so, oldest first."""
        return [
            record
            for record in self.records
            if (method is None or record.method == method) and record.path.endswith(path_end)
        ]


def _auth(headers: Mapping[str, str]) -> str:
    if "Authorization" in headers:
        return headers["Authorization"].partition(" ")[0].lower()
    return "token" if "X-Auth-Token" in headers else ""


def _show(body: bytes) -> Any:
    if len(body) > 64 * 1024:
        return f"({len(body)} bytes)"
    try:
        return _mask(json.loads(body))
    except ValueError:
        return f"({len(body)} bytes)"


def _mask(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "******"
            if isinstance(inner, str) and any(word in key.lower() for word in _SECRET_WORDS)
            else _mask(inner)
            for key, inner in value.items()
        }
    return [_mask(inner) for inner in value] if isinstance(value, list) else value
