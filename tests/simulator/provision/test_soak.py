"""``make soak``: kills at random points for a bounded time; whatever happens, the node ends well and is written once.

METALWRIGHT_SOAK_SECONDS bounds it, METALWRIGHT_KILL_SEED repeats one. Each round is a world of its own.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.simulator.provision.test_kills import MIDDLE, finish, provision_until_free
from tests.simulator.provision.world import world

BOUND_S = float(os.environ.get("METALWRIGHT_SOAK_SECONDS") or 600)
SEED = int(os.environ.get("METALWRIGHT_KILL_SEED") or random.SystemRandom().randrange(1_000_000))


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.timeout(BOUND_S + 900)
def test_random_kills_for_a_bounded_time_always_end_in_the_same_state(
    tmp_path: Path, tiny_image: tuple[Path, str], record_property: Callable[[str, object], None]
) -> None:
    chance, rounds, kills, begun = random.Random(SEED), 0, 0, time.monotonic()
    while time.monotonic() - begun < BOUND_S:
        points = [chance.choice(MIDDLE) for _ in range(chance.randint(1, 4))]
        told = f"METALWRIGHT_KILL_SEED={SEED}, round {rounds + 1}: points {points}"
        with world(tmp_path / f"round-{rounds}", "127.129", tiny_image) as site:
            for point in points:
                provision_until_free(site, METALWRIGHT_KILL_AT=str(point), only_runner=chance.random() < 0.5)
            finish(site, told)
        rounds, kills = rounds + 1, kills + len(points)
    record_property("note", f"soak: seed {SEED}, {rounds} rounds, {kills} kills, {time.monotonic() - begun:.0f} s")
