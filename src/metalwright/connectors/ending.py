"""Ending pyinfra in order when it is interrupted: what is under way is dropped, every session is deleted.

By itself pyinfra waits for the requests that are under way before it disconnects, and dies of SIGTERM at once.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Any

from pyinfra.context import ctx_state, state

_previous: dict[int, Any] = {}


def end_orderly() -> None:
    """Handle SIGINT and SIGTERM from now on; may be called again."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if number in _previous:
            continue
        try:
            _previous[number] = signal.signal(number, _interrupted)
        except ValueError:  # not in the main thread: somebody else's program, and somebody else's handlers
            return


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Drop what is under way, then do what was done before us, or exit; pyinfra disconnects every host on its way."""
    pool = getattr(state, "pool", None) if ctx_state.isset() else None  # type: ignore[no-untyped-call]  # pyinfra's
    if pool is not None:
        pool.kill(block=False)
    previous = _previous.get(number)
    if callable(previous):
        previous(number, frame)
    sys.exit(128 + number)
