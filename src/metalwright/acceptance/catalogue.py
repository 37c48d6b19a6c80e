"""The tests that a blueprint may ask for by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint

COLD_RESTART = "cold-restart"
POWER = "power"


class KnownTest(Frozen):
    """One named test.

    ``runs`` says where its value comes from: ``node`` (the suite measures it over SSH) or ``controller`` (the run that
    calls acceptance hands the value in). ``unit`` is the only unit that a floor may have; a test without one has none.
    """

    runs: Literal["node", "controller"]
    unit: str | None
    what: str


KNOWN_TESTS: Mapping[str, KnownTest] = MappingProxyType(
    {
        **{name: KnownTest(runs="node", unit=test.unit, what=test.what) for name, test in BURN_IN.items()},
        "boot-id": KnownTest(runs="node", unit=None, what="the boot that was tested, so that the results belong to it"),
        COLD_RESTART: KnownTest(
            runs="controller",
            unit=None,
            what="all parts are there again after the power was off; the other tests run on the boot that follows",
        ),
        POWER: KnownTest(runs="controller", unit="W", what="power drawn at rest and under load, read from the BMC"),
    }
)
"""Name → test."""


def disturbs(blueprint: Blueprint) -> bool:
    """Whether the blueprint's tests load or restart the node, so that no workload can run beside them."""
    names = {test.test for test in blueprint.acceptance}
    return COLD_RESTART in names or any(name in BURN_IN and BURN_IN[name].is_load for name in names)
