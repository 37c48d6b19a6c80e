"""One fleet with every profile, in a thread, for the tests of a module; and a client for one of its BMCs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.simulator.fleet.direct import Direct

from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import Fleet, fleet_in_thread
from metalwright.simulator.profiles import NAMES, load_profile


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    bmcs = place("127.91.16.0/26", [(load_profile(name).tree, 1) for name in NAMES], 0)
    with fleet_in_thread(bmcs) as running:
        for bmc in running.bmcs.values():
            bmc.update_s = 0.05
        yield running


@pytest.fixture
def bmc(fleet: Fleet) -> Callable[[str], Direct]:
    def find(name: str, **details: Any) -> Direct:
        return Direct(fleet, name, **details)

    return find
