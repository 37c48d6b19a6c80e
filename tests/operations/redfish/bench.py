"""One node of a site, its BMC to be set faults on, and pyinfra on it in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyinfra.api.deploy import deploy
from tests.operations.redfish.in_process import Outcome, run_deploy
from tests.operations.redfish.site import LabSite, lab_site

from metalwright.simulator.running import RunningService
from metalwright.simulator.service.traffic import Record
from metalwright.simulator.system import SimulatedSystem


@dataclass(frozen=True)
class Bench:
    """Runs operations and deploys on one node; ``seen`` is what its BMC was asked."""

    site: LabSite
    node: str = "lab-1"
    _before: list[int] = field(default_factory=lambda: [0])

    @property
    def service(self) -> RunningService:
        """The BMC."""
        return self.site.machines[self.node]

    @property
    def system(self) -> SimulatedSystem:
        """The machine, as the judge sees it."""
        return self.service.system

    def platform(self) -> str:
        """Under which name the journal keeps what BMCs of this kind taught."""
        return f"{self.service.spec.bmc.manufacturer} {self.service.spec.bmc.model}".lower()

    def rule(self, method: str | None = None, path: str | None = None, **details: Any) -> None:
        """Put a rule in force (:mod:`metalwright.simulator.rules`)."""
        self.system.faults.rule(method, path, **details)

    def behave(self) -> None:
        """End all faults."""
        self.system.faults.clear()

    def forget(self) -> None:
        """Look only at what comes from now on."""
        self._before[0] = self.service.traffic.total

    def seen(self, method: str | None = None, path_end: str = "") -> list[Record]:
        """The requests that the BMC got, sessions left out."""
        records = self.service.traffic.of(method, path_end)
        return [record for record in records if record.number > self._before[0] and "/Session" not in record.path]

    def writes(self) -> list[tuple[str, int]]:
        """``METHOD last-part-of-path`` and status of the writes that the BMC got."""
        records = [record for record in self.seen() if record.method not in ("GET", "HEAD")]
        return [(f"{record.method} {record.path.rsplit('/', 1)[-1]}", record.status) for record in records]

    def evidence(self) -> dict[str, Any]:
        """What was kept before the last disruptive request."""
        files = (self.site.root / ".metalwright" / "evidence").rglob("*.json")
        newest: dict[str, Any] = json.loads(max(files, key=lambda path: path.name).read_text(encoding="utf-8"))
        return newest

    def run(self, operation: Callable[..., Any], *, data: dict[str, Any] | None = None, **arguments: Any) -> Outcome:
        """Run an operation (or a deploy) to its end, as ``pyinfra -y --diff`` does."""
        return run_deploy(self.site, alone(operation, arguments), self.node, **(data or {}))

    def preview(self, operation: Callable[..., Any], **arguments: Any) -> list[str]:
        """The lines that ``--dry --diff`` shows."""
        return run_deploy(self.site, alone(operation, arguments), self.node, is_dry=True).diff


def alone(operation: Callable[..., Any], arguments: dict[str, Any]) -> Callable[..., Any]:
    """Return a deploy that runs one operation (or another deploy)."""

    @deploy("Bench")
    def bench() -> None:
        operation(**arguments)

    return bench


@contextmanager
def bench_in(directory: Path, octet: int, **changes: Any) -> Iterator[Bench]:
    """A site of one node on 127.97.<octet>.0/24."""
    with lab_site(directory, 1, octet, prefix="127.97", **changes) as site:
        yield Bench(site)
