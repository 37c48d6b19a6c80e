"""What a review needs beside the two states."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from metalwright.model.review import ObservedSnapshot


@dataclass(frozen=True)
class Circumstances:
    """The time of the review, and what people said of it; ``None``: nothing was said.

    ``approved_by`` holds ``NAME`` and ``NAME@COMMIT``; the latter counts where that commit is the one reviewed.
    """

    now: datetime
    approved_by: tuple[str, ...] | None = None
    observed: ObservedSnapshot | None = None
    may_remove: int | None = None
