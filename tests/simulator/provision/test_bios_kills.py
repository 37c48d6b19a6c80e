"""``kill -9`` at the journal's points while the phase *bios* works, then provision again: the same end.

Every kill is of whoever reaches the point first, the runner or its pyinfra child. The profile takes two restarts;
``make test-lab`` alone runs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.simulator.provision.test_kills import await_silence, kill_at_each_point, provision_until_free
from tests.simulator.provision.world import World, world

from metalwright.demo.site import BLUEPRINT
from metalwright.loading import release

pytestmark = pytest.mark.timeout(900)

PROFILE = "    SysProfile: Performance\n"
FEWEST_DEATHS = 20
WANTED = {"SysProfile": "Performance", "AcPwrRcvryDelay": "User", "AcPwrRcvryUserDelay": "90"}


@contextmanager
def two_stage_world(directory: Path, image: tuple[Path, str]) -> Iterator[World]:
    """A site whose blueprint declares an attribute that another one unlocks."""
    with world(directory, "127.141", image) as site:
        added = f"{PROFILE}    AcPwrRcvryDelay: User\n    AcPwrRcvryUserDelay: 90\n"
        site.edit("blueprints/lab-vm/1.0.0.yaml", PROFILE, added)
        release(site.demo.root, [BLUEPRINT], replace=True)
        yield site


def check_the_end(site: World) -> None:
    """The profile is in force, and once more changes nothing."""
    code, text = provision_until_free(site, "--until", "bios")
    assert code == 0, text
    done = site.cli("bios", "show", "lab-1", "--json")
    assert done.returncode == 0, done.stderr
    shown = {item["name"]: item for item in json.loads(done.stdout)["attributes"]}
    assert {name: shown[name]["value"] for name in WANTED} == WANTED
    assert [name for name, item in shown.items() if item["pending"] is not None] == []
    before = len(site.writes(site.machine))
    code, text = site.provision("--until", "bios")
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
        assert kill_at_each_point(site, "--until", "bios") >= FEWEST_DEATHS
        check_the_end(site)
