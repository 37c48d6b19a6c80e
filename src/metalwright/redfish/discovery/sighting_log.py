"""What a sweep has read so far, on disk: a line a machine, so that an interrupted sweep goes on where it stopped.

Nothing in it authorises anything and nothing in it is secret; without the file, everything is read again.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from metalwright.errors import LoadingError
from metalwright.loading.files import write_atomically
from metalwright.model.report import HardwareReport
from metalwright.redfish.discovery.sighting import RootFacts, Sighting
from metalwright.redfish.discovery.targets import Target
from metalwright.redfish.inventory import Hostless
from metalwright.redfish.places import Place

KEPT = timedelta(days=1)
_READ = ("identified", "no-host")
"""Only what was read to its end is worth keeping: everything else may be different the next time."""


class SightingLog:
    """The file ``.metalwright/sightings.jsonl``. Appended to line by line; a torn last line does not count."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._clock = clock

    def recent(self, max_age: timedelta) -> dict[str, Sighting]:
        """The machines that were read within ``max_age``, by the URL of their BMC; each says when."""
        oldest = self._clock() - max_age
        return {url: seen for url, seen in self._all().items() if seen.read_at is not None and seen.read_at > oldest}

    @contextmanager
    def appending(self) -> Iterator[Callable[[Sighting], None]]:
        """Give a function that keeps a sighting at once; it survives a kill of this process.

        Raises:
            LoadingError: the file cannot be written.
        """
        try:
            self._path.parent.mkdir(exist_ok=True, mode=0o700)
            self._drop_old()
            stream = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise LoadingError("the sightings cannot be kept", where=str(self._path), found=error.strerror) from error
        with stream:
            fcntl.flock(stream, fcntl.LOCK_SH)
            yield lambda sighting: self._append(stream, sighting)

    def _append(self, stream: TextIOWrapper, sighting: Sighting) -> None:
        if sighting.outcome in _READ:
            stream.write(f"{_line(sighting, self._clock())}\n")
            stream.flush()

    def _drop_old(self) -> None:
        """Rewrite the file with what is still worth something, unless another sweep writes to it now."""
        if not self._path.exists():
            return
        with self._path.open("r+") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            kept = self.recent(KEPT).values()
            write_atomically(self._path, "".join(f"{_line(item, item.read_at or self._clock())}\n" for item in kept))

    def _all(self) -> dict[str, Sighting]:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise LoadingError("the sightings cannot be read", where=str(self._path), found=error.strerror) from error
        return {sighting.target.url: sighting for sighting in _parsed(lines)}


def again(target: Target, known: Sighting) -> Sighting:
    """A remembered sighting as the outcome of another sweep's target."""
    return replace(known, target=target, seconds=0.0)


def _line(sighting: Sighting, when: datetime) -> str:
    root = asdict(sighting.root) if sighting.root is not None else None
    place = {"host": sighting.target.place.host, "port": sighting.target.place.port, "scheme": sighting.target.scheme}
    facts: dict[str, Any] = {
        "schema": 1,
        "at": when.isoformat(),
        **place,
        "outcome": sighting.outcome,
        "root": root,
        "fingerprint": sighting.fingerprint,
        "login": sighting.login,
        "kind": sighting.hostless.kind if sighting.hostless is not None else None,
        "equipment": sighting.hostless.report.to_json() if sighting.hostless is not None else None,
        "reports": [report.to_json() for report in sighting.reports],
    }
    return json.dumps(facts, separators=(",", ":"))


def _parsed(lines: Iterable[str]) -> Iterator[Sighting]:
    for line in lines:
        try:
            facts = json.loads(line)
            yield Sighting(
                target=Target(Place(str(facts["host"]), int(facts["port"])), str(facts["scheme"])),
                outcome=facts["outcome"],
                reports=tuple(HardwareReport.model_validate(report) for report in facts["reports"]),
                root=RootFacts(**facts["root"]) if facts["root"] is not None else None,
                fingerprint=facts["fingerprint"],
                login=facts["login"],
                hostless=_hostless(facts),
                read_at=datetime.fromisoformat(facts["at"]),
            )
        except (ValueError, KeyError, TypeError):
            continue


def _hostless(facts: dict[str, Any]) -> Hostless | None:
    if facts.get("equipment") is None:
        return None
    return Hostless(facts["kind"], HardwareReport.model_validate(facts["equipment"]))
