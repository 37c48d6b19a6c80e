"""A job queue of Dell's kind beside the tasks: where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.simulator.service.answers import Json

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """The queue of a manager."""
    del body
    if "/Managers/" in path:
        bindings.jobs = path
