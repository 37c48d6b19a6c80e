"""The budgets as they are shipped, on a clock that runs a hundred times faster."""

from __future__ import annotations

import asyncio
import importlib
import selectors
import time
from typing import Any

import pytest

from metalwright.model.site import RedfishSettings
from metalwright.redfish.discovery import Target, sweep
from metalwright.redfish.discovery.sighting import Sighting
from metalwright.redfish.inventory.report import IDENTITY_READ_BUDGET
from metalwright.redfish.inventory.walk import DEFAULT_READ_BUDGET
from metalwright.redfish.places import Place
from metalwright.redfish.state import limits_of

SPEED = 100
SILENT, GOOD = (Target(Place(f"127.0.0.{number}", 443)) for number in (1, 2))


class FastSelector(selectors.DefaultSelector):
    """Waits a hundredth of what it is asked to."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(None if timeout is None else timeout / SPEED)


class FastLoop(asyncio.SelectorEventLoop):
    """Its seconds pass in hundredths."""

    def __init__(self) -> None:
        super().__init__(FastSelector())

    def time(self) -> float:
        return time.monotonic() * SPEED


def test_what_is_shipped_is_what_the_documentation_promises() -> None:
    limits = limits_of(RedfishSettings())
    assert (limits.deadline_s, limits.read_timeout_s, limits.connect_timeout_s) == (300, 60, 30)
    assert (DEFAULT_READ_BUDGET, IDENTITY_READ_BUDGET, limits.requests) == (2000, 200, 4000)


def test_a_bmc_that_never_ends_is_left_at_its_deadline_and_the_good_one_was_done_long_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def accepts(*_: Any) -> None:
        return None

    async def look(target: Target, *_: Any) -> Sighting:
        if target is SILENT:
            await asyncio.Event().wait()
        return Sighting(target, "no-login")

    async def main() -> list[tuple[Target, str, float]]:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        seen: list[tuple[Target, str, float]] = []
        knowledge: Any = None
        async for sighting in sweep([SILENT, GOOD], knowledge, limits_of(RedfishSettings()), 2):
            seen.append((sighting.target, sighting.outcome, loop.time() - begun))
            if sighting.target is SILENT:
                assert sighting.error == "no complete answer within 300 s"
        return seen

    visits = importlib.import_module("metalwright.redfish.discovery.visit")
    monkeypatch.setattr(visits, "_why_silent", accepts)
    monkeypatch.setattr(visits, "_visit", look)
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        good, silent = runner.run(main())
    assert good[:2] == (GOOD, "no-login")
    assert silent[:2] == (SILENT, "deadline")
    assert good[2] < silent[2]
    assert silent[2] >= 300
