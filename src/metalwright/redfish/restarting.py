"""Restarting a BMC, once, because it does not list a part that is there, and reading it until it has settled.

Some BMCs list a device only after their own restart, and list devices one after the other for minutes then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from metalwright.errors import BmcAnswerError, BmcUnreachableError, RedfishError
from metalwright.model.report import HardwareReport
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.inventory.resource import link_of

PAUSE_S = 10.0
"""Between two reads of a BMC that has just restarted."""

MAX_READS = 60
"""So many reads at most: with the pause, ten minutes and the time of the reads."""

_ACTION = "#Manager.Reset"
_KINDS = ("GracefulRestart", "ForceRestart")


async def restart_bmc(client: AsyncClient) -> None:
    """Ask the BMC to restart itself. A connection that it closes instead of answering is an answer.

    Raises:
        BmcAnswerError: it offers no restart.
        BmcRefusedError: it refuses.
    """
    manager = await client.find("@manager")
    actions = manager.get("Actions")
    action = actions.get(_ACTION) if isinstance(actions, dict) else None
    target = link_of(action.get("target")) if isinstance(action, dict) else None
    if target is None:
        raise BmcAnswerError(
            "the BMC offers no restart of itself",
            where=client.state.where("GET", str(manager.get("@odata.id"))),
            expected=_ACTION,
            hint="restart it in its web page, wait until it answers, and match again",
        )
    try:
        await client.post(target, {"ResetType": _kind(action)})
    except BmcUnreachableError:
        return


def _kind(action: Any) -> str:
    allowed = action.get("ResetType@Redfish.AllowableValues")
    known = [kind for kind in _KINDS if not isinstance(allowed, list) or kind in allowed]
    return known[0] if known else _KINDS[0]


async def read_settled(read: Callable[[], Awaitable[HardwareReport]]) -> HardwareReport:
    """Read until two reads in a row show the same parts, at most ``MAX_READS`` times; then the last one counts.

    A BMC that does not answer yet is asked again.

    Raises:
        RedfishError: it did not answer in all that time.
    """
    last: HardwareReport | None = None
    failure: RedfishError | None = None
    for _ in range(MAX_READS):
        await asyncio.sleep(PAUSE_S)
        try:
            report = await read()
        except (BmcUnreachableError, BmcAnswerError) as error:
            failure = error
            continue
        if last is not None and _parts(report) == _parts(last):
            return report
        last = report
    if last is None and failure is not None:
        raise failure
    if last is None:
        raise BmcAnswerError("the BMC was never read", where="reading after a restart", hint="match again")
    return last


def _parts(report: HardwareReport) -> HardwareReport:
    return report.model_copy(update={"problems": ()})
