"""The light that tells a technician which server is meant: two properties, on the system or on its chassis.

``LocationIndicatorActive`` replaced ``IndicatorLED`` in 2019 (ComputerSystem 1.12); BMCs have the one, the other or
both, and some show one that they refuse to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError, RedfishError
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.inventory.resource import targets_of

ACTIVE = "LocationIndicatorActive"
LED = "IndicatorLED"


@dataclass(frozen=True)
class Indicator:
    """One light: ``value`` is what the property ``name`` of the resource shows, read back where it was changed."""

    uri: str
    name: str
    value: bool | str

    @property
    def is_lit(self) -> bool:
        """Whether it shines or blinks."""
        return self.value is True or self.value in ("Lit", "Blinking")


async def set_indicator(client: AsyncClient, system_uri: str, *, lit: bool) -> Indicator:
    """Switch the light of the system, or else of its chassis, and read it back.

    Raises:
        BmcAnswerError: the BMC offers no such light, or it takes the change and shows it not.
        BmcRefusedError: it refuses every light that it offers.
    """
    system = await client.get(system_uri)
    refused: RedfishError | None = None
    for uri in (system_uri, *targets_of(_chassis_links(system))):
        body = system if uri == system_uri else await client.get(uri)
        for name, value in _wanted(body, lit):
            try:
                return await _switch(client, uri, name, value)
            except (BmcRefusedError, BmcAnswerError) as error:
                refused = error
    if refused is not None:
        raise refused
    raise BmcAnswerError(
        "the BMC offers no light to locate the server",
        where=client.state.where("GET", system_uri),
        expected=f"{ACTIVE} or {LED} at the system or its chassis",
        found="neither",
        hint="look for the sticker: metalwright inspect shows the serial number",
    )


def _chassis_links(system: Mapping[str, Any]) -> Any:
    links = system.get("Links")
    return links.get("Chassis") if isinstance(links, Mapping) else None


def _wanted(body: Mapping[str, Any], lit: bool) -> Iterator[tuple[str, bool | str]]:
    """The properties that the resource has, the newer one first, with the value to give."""
    if isinstance(body.get(ACTIVE), bool):
        yield ACTIVE, lit
    if isinstance(body.get(LED), str) and body[LED] != "Unknown":
        yield from ((LED, value) for value in (("Blinking", "Lit") if lit else ("Off",)))


async def _switch(client: AsyncClient, uri: str, name: str, value: bool | str) -> Indicator:
    await client.patch(uri, {name: value})
    shown = (await client.get(uri)).get(name)
    indicator = Indicator(uri, name, shown) if isinstance(shown, bool | str) else None
    if indicator is None or indicator.is_lit != (value not in (False, "Off")):
        raise BmcAnswerError(
            "the BMC took the change of the light and does not show it",
            where=client.state.where("PATCH", uri),
            expected=f"{name}: {value}",
            found=f"{name}: {shown}",
            hint="look at the server itself; try again, or restart the BMC",
        )
    return indicator
