"""``make soak``: kills and faults at random for a bounded time; the node ends well and is written once.

METALWRIGHT_SOAK_SECONDS bounds it, METALWRIGHT_KILL_SEED repeats one, METALWRIGHT_SOAK_REPORT names a JSON file to
which the run is added, a failed one too. Each round is a world of its own. Half of the kills come at a point of the
journal, half when a clock says so; only processes that really died count.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.simulator.provision.test_kills import MIDDLE, finish, provision_until_free
from tests.simulator.provision.world import World, world

BOUND_S = float(os.environ.get("METALWRIGHT_SOAK_SECONDS") or 600)
SEED = int(os.environ.get("METALWRIGHT_KILL_SEED") or random.SystemRandom().randrange(1_000_000))
PATIENCE_S = 900.0
"""For one command on a busy machine."""
RUN_S = 12.0
"""About as long as an undisturbed run on an idle machine; later instants fall into its waits on a busy one."""
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
    kills: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    result: str = "running"


@pytest.mark.soak
@pytest.mark.long
@pytest.mark.timeout(BOUND_S + 900)
def test_random_kills_and_faults_for_a_bounded_time_always_end_in_the_same_state(
    tmp_path: Path, tiny_image: tuple[Path, str], record_property: Callable[[str, object], None]
) -> None:
    chance, tally, begun = random.Random(SEED), _Tally(), time.monotonic()
    try:
        while time.monotonic() - begun < BOUND_S:
            told = [f"METALWRIGHT_KILL_SEED={SEED}, round {tally.rounds + 1}"]
            tally.result = f"failed: {told[0]}"
            with world(tmp_path / f"round-{tally.rounds}", "127.129", tiny_image) as site:
                site.timeout_s = PATIENCE_S
                for _ in range(chance.randint(3, 10)):
                    told += [_mislead(site, chance, tally), _kill(site, chance, tally)]
                site.lab.clear_faults(site.machine.name)
                finish(site, ", ".join(told))
            tally.rounds += 1
        tally.result = "every round ended ready, written once"
    finally:
        seconds = round(time.monotonic() - begun)
        _report({"seed": SEED, "seconds": seconds, **vars(tally), "date": f"{datetime.now(UTC):%Y-%m-%d}"})
    kills, faults = tally.kills.total(), tally.faults.total()
    assert kills, "nothing died"
    record_property("note", f"soak: seed {SEED}, {tally.rounds} rounds, {kills} kills, {faults} faults, {seconds} s")


def _mislead(site: World, chance: random.Random, tally: _Tally) -> str:
    """Put one fault in force, or none; what it is."""
    fault = chance.choice((None, *FAULTS))
    skip = chance.randrange(40)
    if fault is None:
        return "no fault"
    details = {key: value for key, value in fault.items() if key != "name"}
    site.lab.set_fault(site.machine.name, fault["name"], **details, skip=skip)
    tally.faults[fault["name"]] += 1
    return f"{fault} after {skip}"


def _kill(site: World, chance: random.Random, tally: _Tally) -> str:
    """Provision, and kill it at a point of the journal or at an instant, if it still runs then; what was done."""
    point, instant_s, by_clock, only_runner = (
        chance.choice(MIDDLE), chance.uniform(0, RUN_S), chance.random() < 0.5, chance.random() < 0.5
    )  # fmt: skip
    if by_clock:
        died = _die_at(site, instant_s)
        tally.kills["at an instant"] += died
        return f"{'killed' if died else 'ended before'} {instant_s:.1f} s"
    before = len(site.kills())
    provision_until_free(site, METALWRIGHT_KILL_AT=str(point), only_runner=only_runner)
    points = site.kills()[before:]
    tally.kills["at a point of the journal"] += len(points)
    return f"point {point}{' of the runner' if only_runner else ''}: {', '.join(points) or 'nothing'} died"


def _die_at(site: World, instant_s: float) -> bool:
    """Start to provision and ``kill -9`` the controller ``instant_s`` later; false where it had ended."""
    controller = site.start("provision", site.machine.name, "--until", "image", "--yes")
    try:
        controller.wait(timeout=instant_s)
    except subprocess.TimeoutExpired:
        controller.kill()
    controller.communicate(timeout=PATIENCE_S)  # orphans hold the pipe until they have ended
    return controller.returncode == -signal.SIGKILL


def _report(run: dict[str, Any]) -> None:
    """Add the run to the file: ``{"schema": 2, "kills": of all runs, "runs": [{"seed", "seconds", …}]}``."""
    if not (path := os.environ.get("METALWRIGHT_SOAK_REPORT")):
        return
    file = Path(path)
    runs = [*(json.loads(file.read_text(encoding="utf-8"))["runs"] if file.exists() else []), run]
    kills = sum(number for item in runs for number in item["kills"].values())
    file.write_text(json.dumps({"schema": 2, "kills": kills, "runs": runs}, indent=2) + "\n", encoding="utf-8")
