"""How much power a machine draws, as its BMC tells it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.async_client import AsyncClient

PLACES = ("@chassis/EnvironmentMetrics", "@chassis/Power")
"""Where it stands: by the present standard, and by the one before it."""


async def read_power_draw(client: AsyncClient) -> float:
    """Watts now.

    Raises:
        BmcAnswerError: the BMC does not tell.
        RedfishError: it does not answer.
    """
    for place in PLACES:
        try:
            watts = watts_of(await client.find(place))
        except (BmcAnswerError, BmcRefusedError):
            continue  # not offered
        if watts is not None:
            return watts
    raise BmcAnswerError(
        "the BMC does not tell how much power the machine draws",
        where=", ".join(PLACES),
        expected="PowerWatts of EnvironmentMetrics, or PowerConsumedWatts of Power",
        hint="update the BMC's firmware, or measure the power at the feed",
    )


def watts_of(body: Any) -> float | None:
    """Watts of an EnvironmentMetrics or Power resource; ``None`` where it says nothing, or nothing that can be."""
    if not isinstance(body, Mapping):
        return None
    metrics = body.get("PowerWatts")
    if isinstance(metrics, Mapping):
        return _number(metrics.get("Reading"))
    controls = body.get("PowerControl")
    for control in controls if isinstance(controls, list) else []:
        watts = _number(control.get("PowerConsumedWatts")) if isinstance(control, Mapping) else None
        if watts is not None:
            return watts
    return None


def _number(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value > 0 else None
