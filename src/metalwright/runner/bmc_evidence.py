"""What the BMC can tell before a rebuild begins: event log, sensors, boot state and the tail of the serial console.

The connector keeps the same before each first reset; a rebuild keeps it before the drain too, and of a node that is
off, whose console log the coming boot would push out. Collecting never stops what it precedes.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metalwright.errors import MetalwrightError
from metalwright.journal.evidence import evidence_dir, write_evidence
from metalwright.runner.bmc_session import open_bmc
from metalwright.workspace import Workspace

BEFORE = "the rebuild"


def keep_bmc_evidence(workspace: Workspace, node: str, run: str) -> Path | None:
    """Keep it in ``.metalwright/evidence/RUN``; the journal names the file, or says why there is none."""
    try:
        evidence = asyncio.run(_read(workspace, node))
        directory = evidence_dir(workspace.paths.state, run)
        path = write_evidence(directory, node, node, datetime.now(UTC), {"before": BEFORE, **evidence})
    except (MetalwrightError, OSError) as error:
        why = str(error).partition("\n")[0]
        workspace.journal.events.note("no evidence of the BMC", node=node, run=run, why=why)
        return None
    where = str(path.relative_to(workspace.paths.root))
    why = f"{where} ({_told(evidence)})"
    workspace.journal.events.note(
        "evidence kept", node=node, run=run, why=why, detail={"file": where, "before": BEFORE}
    )
    return path


async def _read(workspace: Workspace, node: str) -> dict[str, Any]:
    async with open_bmc(workspace, node) as session:
        return await session.client.evidence()


def _told(evidence: dict[str, Any]) -> str:
    console = evidence["console"]
    why_none = next((text for text in evidence["problems"] if text.startswith("console:")), "no console")
    lines = f"{len(console['lines'])} lines of the console" if console else why_none
    return f"{len(evidence['log'])} entries of the event log, {lines}"
