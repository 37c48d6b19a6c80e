"""What a boot taught about its platform: which target starts a virtual CD there, and which does not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.model.boot import BootCapabilities
from metalwright.operations.redfish.boot_choice import capabilities, cd_targets
from metalwright.redfish.adaptations import merged, platform_of
from metalwright.redfish.async_client import AsyncClient
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace

_ALLOWED: Final = "BootSourceOverrideTarget@Redfish.AllowableValues"


async def read_capabilities(
    client: AsyncClient, system: Mapping[str, Any], slots: Sequence[Mapping[str, Any]]
) -> BootCapabilities:
    """Return what the BMC offers to start its host from; ``system`` and ``slots`` are bodies that were read already.

    The settings resource and the BIOS attributes are read only where the system itself shows no URL of an HTTP boot.
    """
    boot, attributes = _object(system.get("Boot")), {}
    behaviour = await client.find("@behaviour")
    if "HttpBootUri" not in boot:
        settings = _object((await client.find("@system-settings")).get("Boot"))
        boot = {**settings, **boot}
    if "HttpBootUri" not in boot:
        with contextlib.suppress(BmcAnswerError, BmcRefusedError):
            attributes = _object((await client.find("@system/Bios")).get("Attributes"))
    listed = boot.get(_ALLOWED)
    seen = {
        "allowed": listed if isinstance(listed, list) else None,
        "is_http_uri_shown": "HttpBootUri" in boot,
        "behaviour": behaviour,
    }
    kinds = [slot.get("MediaTypes") for slot in slots]
    types = [{"types": kind if isinstance(kind, list) else [], "is_inserted": False} for kind in kinds]
    return capabilities(seen, types, attributes)


def _object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def learn_target(workspace: Workspace, node: str, *, did_boot: bool) -> str | None:
    """Keep for the platform whether the target that is best there now started the medium; returns the target.

    The next attempt, on this BMC or on another one of the platform, then begins with another target, or with this one.
    Raises a RedfishError when the BMC cannot be read.
    """
    return asyncio.run(_learn(workspace, node, did_boot))


async def _learn(workspace: Workspace, node: str, did_boot: bool) -> str | None:
    async with open_bmc(workspace, node) as session:
        system = await session.client.find("@system")
        behaviour = await session.client.find("@behaviour")
        platform = platform_of(session.client.state.root or {}, session.client.state.key)
    boot = system.get("Boot")
    listed: Any = boot.get(_ALLOWED) if isinstance(boot, Mapping) else None
    allowed = listed if isinstance(listed, list) else None
    target = next((item for item in cd_targets(behaviour) if allowed is None or item in allowed), None)
    if target is not None:
        forms = workspace.journal.platform_forms
        forms.keep(platform, merged(forms.recall(platform), [f"cd{'+' if did_boot else '-'}{target}"]))
    return target
