"""Everything about the BIOS of one host, over one asynchronous client. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metalwright.bios.observed import bios_state, job_queue
from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.async_client import AsyncClient

NOT_OFFERED = (404, 405, 501)
Json = dict[str, Any]


@dataclass(frozen=True)
class BiosReading:
    """``state`` as in :mod:`metalwright.bios.observed`; ``registry`` is ``None`` where the BMC serves none."""

    state: Json
    registry: Json | None
    manufacturer: str | None
    model: str | None
    version: str | None


async def read_bios(client: AsyncClient) -> BiosReading:
    """Raises RedfishError when the BIOS cannot be read at all."""
    system, bios = await client.find("@system"), await client.find("@system/Bios")
    settings = await find_optional(client, "@bios-settings")
    secure_boot = await find_optional(client, "@system/SecureBoot")
    return BiosReading(
        state=bios_state(bios, settings, secure_boot or {}),
        registry=await find_optional(client, "@bios-registry"),
        manufacturer=_text(system.get("Manufacturer")),
        model=_text(system.get("Model")),
        version=_text(system.get("BiosVersion")),
    )


async def read_job_queue(client: AsyncClient, state: Json) -> Json:
    """The queue that BIOS changes go through; empty where the settings name none."""
    if state["jobs_uri"] is None:
        return job_queue(None, [], {})
    queue, members = await find_optional(client, "@bios-jobs"), await find_optional(client, "@bios-jobs/*")
    return job_queue(queue, (members or {}).get("Members", []), {})


async def find_optional(client: AsyncClient, expression: str) -> Json | None:
    """What the expression leads to, ``None`` where this BMC does not offer it."""
    try:
        return await client.find(expression)
    except BmcAnswerError:
        return None
    except BmcRefusedError as error:
        if error.status not in NOT_OFFERED:
            raise
        return None


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
