"""What failed twice in the same way is not tried a third time until somebody says that the cause is repaired.

The tests share one site and build on one another, in this order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.provision.world import World, world

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, tiny_image: tuple[Path, str]) -> Iterator[World]:
    """A machine as it was racked."""
    with world(tmp_path_factory.mktemp("repeated"), "127.124", tiny_image) as made:
        yield made


def test_st_05_after_two_identical_failures_the_act_is_refused(site: World) -> None:
    """Keeps attempts across restarts; after two identical failures it stops, says why, and changes nothing more."""
    site.lab.set_fault("lab-1", "media-refused")
    for _ in range(2):
        code, text = site.provision()
        assert code == 1
        assert "InsertMedia" in text, text
        assert "hint" in text

    before = len(site.writes(site.machine))
    for _ in range(2):
        code, text = site.provision()
        assert code == 1
        assert "failed 2 times in the same way" in text, text
        assert "metalwright provision lab-1 --retry" in text
    assert len(site.writes(site.machine)) == before


def test_st_06_a_retry_that_somebody_orders_acts_again_and_is_audited(site: World) -> None:
    """`--retry` forgets the failures, and the audit log says who ordered it; another recipe begins anew by itself."""
    before = len(site.writes(site.machine))
    site.lab.clear_faults("lab-1")
    assert site.provision()[0] == 1
    assert len(site.writes(site.machine)) == before

    code, text = site.provision("--retry")
    assert code == 0, text
    acts = [event["what"] for event in site.journal(site.machine)["events"] if event["is_act"]]
    assert "attempts reset" in acts
    assert site.stamp(site.machine) is not None


def test_st_07_a_site_that_changes_during_a_run_is_neither_applied_nor_recorded_by_it(site: World) -> None:
    """Records the recipe that it began with; where the site's files change meanwhile it stops before it acts."""
    deployments = site.count("deployments")
    rebuild = site.start("rebuild", "lab-1", "--yes")
    try:
        while site.count("deployments") == deployments:
            assert rebuild.poll() is None, rebuild.communicate()
            time.sleep(0.05)
        site.edit("inventory/site.yaml", "ntp: [10.1.0.2]", "ntp: [10.1.0.3]")
        said, _ = rebuild.communicate(timeout=240)
    finally:
        rebuild.kill()
    assert rebuild.returncode == 1
    assert "the site's files changed during the run" in said, said
    assert "metalwright provision lab-1" in said
    acts = [event["what"] for event in site.journal(site.machine)["events"] if event["is_act"]]
    assert "image: image" in acts
    stamp = site.stamp(site.machine)
    assert stamp is not None
    assert site.count("known_good") == 0
    assert site.count(f"node_runs where recipe = '{stamp['recipe']}'") > 0
