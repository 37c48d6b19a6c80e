"""Errors and warnings together."""

from __future__ import annotations

from typing import NamedTuple

from metalwright.errors import LoadingError


class Findings(NamedTuple):
    """What cannot work, and what is not known of the rest."""

    errors: tuple[LoadingError, ...]
    warnings: tuple[LoadingError, ...]
