"""``kill -9`` at the journal's points while the phase *bios* works, then provision again: the same end.

Every kill is of whoever reaches the point first, the runner or its pyinfra child. The profile takes two restarts: a
chain through every point in ``make test-lab``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.simulator.provision.test_kills import await_silence, provision_until_free
from tests.simulator.provision.world import World, world

from metalwright.demo.site import BLUEPRINT
from metalwright.loading import release

pytestmark = pytest.mark.timeout(900)

PROFILE = "    SysProfile: Performance\n"
LAST_POINT = 60
WANTED = {"SysProfile": "Performance", "AcPwrRcvryDelay": "User", "AcPwrRcvryUserDelay": "90"}


@contextmanager
def two_stage_world(directory: Path, image: tuple[Path, str]) -> Iterator[World]:
    """A site whose blueprint declares an attribute that another one unlocks."""
    with world(directory, "127.141", image) as site:
        added = f"{PROFILE}    AcPwrRcvryDelay: User\n    AcPwrRcvryUserDelay: 90\n"
        site.edit("blueprints/lab-vm/1.0.0.yaml", PROFILE, added)
        release(site.demo.root, [BLUEPRINT], replace=True)
        yield site


def provision(site: World, *options: str, **environment: str) -> tuple[int, str]:
    """``provision --until bios``, waiting for orphans of killed runs."""
    return provision_until_free(site, "--until", "bios", *options, only_runner=False, **environment)


def kill_along(site: World, first: int, stride: int) -> int:
    """Start again and again, each time killed some points later; returns how often it died."""
    deaths = 0
    for point in range(first, LAST_POINT, stride):
        code, text = provision(site, *(["--retry"] if deaths > 1 else []), METALWRIGHT_KILL_AT=str(point))
        if code == 0:
            break
        deaths += 1
        assert "Traceback" not in text
    return deaths


def check_the_end(site: World) -> None:
    """The profile is in force, and once more changes nothing."""
    code, text = provision(site, "--retry")
    assert code == 0, text
    done = site.cli("bios", "show", "lab-1", "--json")
    assert done.returncode == 0, done.stderr
    shown = {item["name"]: item for item in json.loads(done.stdout)["attributes"]}
    assert {name: shown[name]["value"] for name in WANTED} == WANTED
    assert [name for name, item in shown.items() if item["pending"] is not None] == []
    before = len(site.writes(site.machine))
    code, text = provision(site)
    assert code == 0, text
    assert len(site.writes(site.machine)) == before
    await_silence(site)


@pytest.mark.long
def test_after_kills_at_every_point_the_bios_is_as_if_nothing_had_happened(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with two_stage_world(tmp_path, tiny_image) as site:
        code, text = provision_until_free(site, "--until", "firmware")
        assert code == 0, text
        assert kill_along(site, 1, 1) >= 5
        check_the_end(site)
