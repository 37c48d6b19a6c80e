"""Floors that others publish for known systems, and what they say of a blueprint's own. The rows are in floors.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Literal

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.matching.names import is_gpu
from metalwright.model.base import Frozen
from metalwright.model.blueprint import AcceptanceTest, Blueprint

FAR_BELOW = 0.8
"""A floor under this share of the published one would let a broken node pass."""


class PublishedFloor(Frozen):
    """What a system with ``count`` GPUs of a model reaches at least in a test; ``measured``: how the source did it."""

    vendor: Literal["nvidia", "amd"]
    gpu: str
    count: int
    test: str
    floor: float
    measured: str
    source: str

    def is_of(self, blueprint: Blueprint) -> bool:
        """Whether the blueprint describes such a system."""
        gpus = blueprint.hardware.gpus
        is_system = gpus is not None and (gpus.vendor, gpus.count) == (self.vendor, self.count)
        return is_system and is_gpu(self.gpu, gpus.model if gpus is not None else "")


class FloorFinding(Frozen):
    """What is to be said of the test at ``index``; ``published`` is ``None`` where nobody published a floor."""

    index: int
    test: AcceptanceTest
    published: PublishedFloor | None
    is_far_below: bool


@cache
def published_floors() -> tuple[PublishedFloor, ...]:
    """All rows, in order."""
    text = (resources.files(__package__) / "floors.toml").read_text(encoding="utf-8")
    return tuple(PublishedFloor.model_validate(row) for row in tomllib.loads(text)["floor"])


def published_floor(blueprint: Blueprint, test: str) -> PublishedFloor | None:
    """The row of this test for the blueprint's system; ``None``: the system is not known, or not in this test."""
    return next((row for row in published_floors() if row.test == test and row.is_of(blueprint)), None)


def floor_findings(blueprint: Blueprint) -> Iterator[FloorFinding]:
    """For every test of GPUs that has a floor: the published one, and whether the blueprint's is far below."""
    for index, test in enumerate(blueprint.acceptance):
        needs = BURN_IN[test.test].needs if test.test in BURN_IN else frozenset()
        if test.floor is None or not needs & {"gpus", "rdma"} or test.unit == "GPUs":
            continue
        row = published_floor(blueprint, test.test)
        is_far_below = row is not None and test.floor < FAR_BELOW * row.floor
        yield FloorFinding(index=index, test=test, published=row, is_far_below=is_far_below)
