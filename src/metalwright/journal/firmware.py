"""Firmware updates under way: kept before a BMC hears of one, so that no second flash follows an unproven first."""

from __future__ import annotations

from typing import Any, Literal

from metalwright.journal.events import Events
from metalwright.journal.records import Event
from metalwright.model.firmware import FirmwareImage, FirmwareUpdate

STARTED = "firmware update started"
ACCEPTED = "firmware update accepted"
TASK_ENDED = "firmware task ended"
RESET = "host restarted for firmware"
ENDED = "firmware update ended"


class FirmwareUpdates:
    """The updates of each node, as its events tell them: the newest of each component."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def begin(self, node: str, image: FirmwareImage, before: str | None) -> None:
        """Record, before the image is sent, that it is about to be; audited."""
        detail = {"component": image.component, "version": image.version, "before": before}
        detail |= {"file_sha256": image.file_sha256, "activation": image.activation}
        self._events.act(STARTED, node=node, why="the blueprint's firmware constraints", detail=detail)

    def accept(self, node: str, component: str, task: str | None) -> None:
        """The BMC took the image; ``task`` is where it tells what becomes of it."""
        self._note(ACCEPTED, node, component, task=task)

    def task_ended(self, node: str, component: str) -> None:
        """The end of the task, or its disappearance, was seen for the first time."""
        self._note(TASK_ENDED, node, component)

    def reset(self, node: str, component: str) -> None:
        """The host is about to be restarted to bring the version into force."""
        self._note(RESET, node, component)

    def end(self, node: str, component: str, outcome: Literal["proven", "failed"], why: str) -> None:
        """The update is proven by the version, or failed for good."""
        self._note(ENDED, node, component, why=why, outcome=outcome)

    def open(self, node: str) -> tuple[FirmwareUpdate, ...]:
        """Return the updates that have not ended, by component."""
        return tuple(update for update in self.newest(node) if update.outcome is None)

    def newest(self, node: str) -> tuple[FirmwareUpdate, ...]:
        """Return the newest update of each component, ended or not."""
        found: dict[str, FirmwareUpdate] = {}
        for event in self._events.of(node=node):
            _apply(found, event)
        return tuple(found[component] for component in sorted(found))

    def _note(self, what: str, node: str, component: str, *, why: str | None = None, **detail: Any) -> None:
        self._events.note(what, node=node, why=why, detail={"component": component, **detail})


def _apply(found: dict[str, FirmwareUpdate], event: Event) -> None:
    detail = event.detail or {}
    if event.what == STARTED:
        found[detail["component"]] = FirmwareUpdate(**detail, started=event.at)
        return
    changes: dict[str, dict[str, Any]] = {
        ACCEPTED: {"is_accepted": True, "task": detail.get("task")},
        TASK_ENDED: {"task_ended": event.at},
        RESET: {"reset": event.at},
        ENDED: {"outcome": detail.get("outcome"), "why": event.why},
    }
    known = found.get(detail.get("component", ""))
    if event.what in changes and known is not None:
        found[known.component] = known.model_copy(update=changes[event.what])
