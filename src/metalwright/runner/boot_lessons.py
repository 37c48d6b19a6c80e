"""What a boot taught about its platform: which target starts a virtual CD there, and which does not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from metalwright.operations.redfish.boot_choice import cd_targets
from metalwright.redfish.adaptations import merged, platform_of
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace


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
    listed: Any = boot.get("BootSourceOverrideTarget@Redfish.AllowableValues") if isinstance(boot, Mapping) else None
    allowed = listed if isinstance(listed, list) else None
    target = next((item for item in cd_targets(behaviour) if allowed is None or item in allowed), None)
    if target is not None:
        forms = workspace.journal.platform_forms
        forms.keep(platform, merged(forms.recall(platform), [f"cd{'+' if did_boot else '-'}{target}"]))
    return target
