"""What failed twice in the same way is not tried a third time until somebody says that the cause is repaired."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.simulator.provision.world import world

pytestmark = pytest.mark.timeout(600)


def test_after_two_identical_failures_the_act_is_refused_until_a_retry_is_ordered(
    tmp_path: Path, tiny_image: tuple[Path, str]
) -> None:
    with world(tmp_path, "127.124", tiny_image) as site:
        site.lab.set_fault("lab-1", "media-refused")
        for _ in range(2):
            code, text = site.provision()
            assert code == 1
            assert "InsertMedia" in text, text
            assert "hint" in text

        before = len(site.writes(site.machine))
        code, text = site.provision()
        assert code == 1
        assert "failed 2 times in the same way" in text, text
        assert "metalwright provision lab-1 --retry" in text
        assert len(site.writes(site.machine)) == before

        site.lab.clear_faults("lab-1")
        assert site.provision()[0] == 1
        assert len(site.writes(site.machine)) == before

        code, text = site.provision("--retry")
        assert code == 0, text
        acts = [event["what"] for event in site.journal(site.machine)["events"] if event["is_act"]]
        assert "attempts reset" in acts
        assert site.stamp(site.machine) is not None
