"""Chassis: LED and asset tag; the power of the one that holds the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.simulator.fleet.living.own import keep, own, present
from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.routes import Call, Field

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

_KEPT = {
    "AssetTag": Field(str),
    "IndicatorLED": Field(str, ("Off", "Lit", "Blinking")),
    "LocationIndicatorActive": Field(bool),
}


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """What the chassis has of these can be written."""
    fields = present(body, _KEPT)
    if fields:
        bindings.patches[path] = keep(path, fields)
    if bindings.host and "PowerState" in body:
        bindings.lives(path, _show_power)


def _show_power(call: Call, body: Json) -> None:
    if not own(call).shows_captured_power:
        body["PowerState"] = call.bmc.system.power_state
