"""``make soak``: kills and faults at random for a bounded time; the node ends well and is written once.

METALWRIGHT_SOAK_SECONDS bounds it, METALWRIGHT_KILL_SEED repeats one, METALWRIGHT_SOAK_REPORT names a JSON file that
gets the result. Each round is a world of its own.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.provision.test_kills import MIDDLE, finish, provision_until_free
from tests.simulator.provision.world import World, world

BOUND_S = float(os.environ.get("METALWRIGHT_SOAK_SECONDS") or 600)
SEED = int(os.environ.get("METALWRIGHT_KILL_SEED") or random.SystemRandom().randrange(1_000_000))
FAULTS: tuple[dict[str, Any], ...] = (
    {"name": "unreachable", "times": 3},
    {"name": "slow", "seconds": 2.0, "times": 3},
    {"name": "wrong-answer", "status": 503, "times": 3},
    {"name": "wrong-answer", "status": 200, "body": "<html>", "content_type": "text/html", "times": 2},
    {"name": "drop-after-effect", "times": 1},
    {"name": "reset-ignored", "times": 1},
    {"name": "override-ignored", "times": 1},
    {"name": "bios-ignored", "times": 1},
    {"name": "rule", "path": "/Sessions/", "method": "GET", "do": {"log_out": True}, "times": 1},
)
"""Faults that pass: after them the BMC is as it should be."""


@dataclass
class _Tally:
    rounds: int = 0
    kills: int = 0
    faults: dict[str, int] = field(default_factory=dict)


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.timeout(BOUND_S + 900)
def test_random_kills_and_faults_for_a_bounded_time_always_end_in_the_same_state(
    tmp_path: Path, tiny_image: tuple[Path, str], record_property: Callable[[str, object], None]
) -> None:
    chance, tally, begun = random.Random(SEED), _Tally(), time.monotonic()
    while time.monotonic() - begun < BOUND_S:
        points = [chance.choice(MIDDLE) for _ in range(chance.randint(1, 4))]
        told = f"METALWRIGHT_KILL_SEED={SEED}, round {tally.rounds + 1}: points {points}"
        with world(tmp_path / f"round-{tally.rounds}", "127.129", tiny_image) as site:
            for point in points:
                told += f", {_mislead(site, chance, tally)}"
                provision_until_free(site, METALWRIGHT_KILL_AT=str(point), only_runner=chance.random() < 0.5)
            site.lab.clear_faults(site.machine.name)
            finish(site, told)
        tally.rounds, tally.kills = tally.rounds + 1, tally.kills + len(points)
    seconds = round(time.monotonic() - begun)
    _report({"seed": SEED, "seconds": seconds, **vars(tally), "result": "every round ended ready, written once"})
    faults = sum(tally.faults.values())
    record_property(
        "note", f"soak: seed {SEED}, {tally.rounds} rounds, {tally.kills} kills, {faults} faults, {seconds} s"
    )


def _mislead(site: World, chance: random.Random, tally: _Tally) -> str:
    """Put one fault in force, or none; what it is."""
    fault = chance.choice((None, *FAULTS))
    if fault is None:
        return "no fault"
    details = {key: value for key, value in fault.items() if key != "name"}
    site.lab.set_fault(site.machine.name, fault["name"], **details, skip=chance.randrange(40))
    tally.faults[fault["name"]] = tally.faults.get(fault["name"], 0) + 1
    return str(fault)


def _report(result: dict[str, Any]) -> None:
    path = os.environ.get("METALWRIGHT_SOAK_REPORT")
    if path:
        Path(path).write_text(json.dumps({"schema": 1, **result}, indent=2) + "\n", encoding="utf-8")
