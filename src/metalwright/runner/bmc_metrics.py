"""The metrics of BMCs: one sweep over the fleet, as text for Prometheus. Reads only.

A BMC that does not answer has ``metalwright_bmc_up 0`` and no other series: what is not known is absent, never zero.
Only BMCs with a pinned certificate are asked; a refused password is remembered and not sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from metalwright.acceptance.certificate import verify_certificate
from metalwright.acceptance.signing import trusted_keys
from metalwright.errors import BmcAuthError, IdentityError, MetalwrightError, RedfishError
from metalwright.model.rack import Node
from metalwright.model.sensors import MachineSensors
from metalwright.monitoring.exposition import Sample, exposition
from metalwright.monitoring.samples import (
    blueprint_samples,
    certificate_sample,
    event_samples,
    sensor_samples,
    state_sample,
)
from metalwright.monitoring.targets import WATCHED_STATES, target_labels
from metalwright.redfish.access import BmcSession, identity_failures, report_of
from metalwright.redfish.discovery.sweep import READ_AT_ONCE
from metalwright.redfish.inventory.sensors import read_sensors
from metalwright.redfish.pins import site_pins
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace

NEWEST_EVENTS = 50
STALE_INTERVALS = 3
"""After so many intervals without a sweep, what the last one said is shown no more."""


@dataclass(frozen=True)
class Sweep:
    """What one sweep found; ``notes`` are for a person, one line a BMC that could not be read."""

    at: datetime
    samples: tuple[Sample, ...]
    notes: tuple[str, ...] = ()

    def text(self, now: datetime, interval_s: float | None = None) -> str:
        """The page that Prometheus reads. What is older than three intervals is gone from it, but for its time."""
        age_s = (now - self.at).total_seconds()
        is_stale = interval_s is not None and age_s > STALE_INTERVALS * interval_s
        swept = Sample("metalwright_sweep_timestamp_seconds", self.at.timestamp())
        return exposition((swept, *(() if is_stale else self.samples)))


@dataclass
class _Answers:
    samples: list[Sample] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sweep_bmcs(workspace: Workspace, nodes: Sequence[str] = (), *, newest_events: int = NEWEST_EVENTS) -> Sweep:
    """Ask the BMCs of ``nodes``, by default of all that are watched; ``newest_events`` 0 leaves out the event logs."""
    return asyncio.run(sweep_bmcs_async(workspace, nodes, newest_events=newest_events))


async def sweep_bmcs_async(
    workspace: Workspace, nodes: Sequence[str] = (), *, newest_events: int = NEWEST_EVENTS
) -> Sweep:
    """As :func:`sweep_bmcs`, inside a running loop."""
    watched = [workspace.repository.node(name) for name in nodes] or [
        node for node in workspace.repository.nodes() if node.state in WATCHED_STATES
    ]
    limit, answers = asyncio.Semaphore(READ_AT_ONCE), _Answers()

    async def one(node: Node) -> None:
        async with limit:
            await _ask(workspace, node, newest_events, answers)

    known = list(_known_samples(workspace, watched))
    await asyncio.gather(*(one(node) for node in watched))
    return Sweep(datetime.now(UTC), (*known, *answers.samples), tuple(sorted(answers.notes)))


async def _ask(workspace: Workspace, node: Node, newest_events: int, answers: _Answers) -> None:
    labels = _labels(workspace, node)
    if site_pins(workspace.repository, workspace.journal.pins).get(node.name) is None:
        answers.notes.append(f"{node.name}: its BMC has no pinned certificate yet and is not asked")
        return
    samples: list[Sample] = []
    is_refused = False
    try:
        async with open_bmc(workspace, node.name) as session:
            samples += sensor_samples(labels, await _sensors(node, session))
            samples += await _events(labels, session, newest_events)
    except BmcAuthError as error:
        is_refused = True
        answers.notes.append(f"{node.name}: {error.what}")
    except MetalwrightError as error:
        answers.notes.append(f"{node.name}: {error.what}")
    is_up = bool(samples)
    answers.samples += [
        Sample("metalwright_bmc_up", is_up, labels),
        Sample("metalwright_bmc_login_refused", is_refused, labels),
        *samples,
    ]


async def _sensors(node: Node, session: BmcSession) -> MachineSensors:
    found = await read_sensors(session.client, address=session.place.host)
    report = report_of(node, [report for report, _ in found])
    failures = identity_failures(node, report)
    if failures:
        raise IdentityError("another machine answers at this address", where=node.name, found="; ".join(failures))
    return next(sensors for candidate, sensors in found if candidate is report)


async def _events(labels: Mapping[str, str], session: BmcSession, newest: int) -> list[Sample]:
    """Counts by severity; nothing where a log cannot be read: half a count would look like a repair."""
    if newest <= 0:
        return []
    problems: list[str] = []
    entries: list[tuple[str, datetime | None]] = []
    try:
        found = await session.client.find("@event-logs")
        problems += found["problems"]
        for log in found["logs"]:
            listed = await session.client.event_log(log["name"], log["entries_uri"], newest, problems)
            entries += [(entry.severity, _time_of(entry.at)) for entry in listed]
    except BmcAuthError:
        raise
    except RedfishError:
        return []
    return [] if problems or not found["logs"] else list(event_samples(labels, entries))


def _time_of(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _known_samples(workspace: Workspace, nodes: Sequence[Node]) -> Iterator[Sample]:
    """What needs no BMC: blueprint, journal, certificates."""
    states = {status.node: status.state for status in workspace.journal.nodes.all()}
    for node in nodes:
        labels = _labels(workspace, node)
        yield from blueprint_samples(labels, workspace.blueprint(node.name))
        if node.name in states:
            yield state_sample(labels, states[node.name])
        expires = _certificate_end(workspace, node.name)
        if expires is not None:
            yield certificate_sample(labels, expires)


def _certificate_end(workspace: Workspace, node: str) -> datetime | None:
    """When the certificate of a node ends, also where that is past; None for one that is not authentic or not there."""
    path = workspace.paths.state / "acceptance" / node / "certificate.json"
    if not path.exists():
        return None
    try:
        keys = trusted_keys(
            [workspace.paths.root / "inventory" / "certificate-keys", path.parents[2] / "certificate.pem"]
        )
        certificate = verify_certificate(path, keys, now=datetime.min.replace(tzinfo=UTC))
    except MetalwrightError:
        return None
    return certificate.expires if certificate.verdict == "PASS" else None


def _labels(workspace: Workspace, node: Node) -> dict[str, str]:
    """The labels that a scraped target of the node carries, without those that change with its cabling."""
    rack, blueprint = workspace.repository.rack_of(node.name), workspace.blueprint(node.name)
    labels = target_labels(workspace.repository, rack, node, blueprint)
    return {key: labels[key] for key in ("node", "rack", "blueprint", "role")}
