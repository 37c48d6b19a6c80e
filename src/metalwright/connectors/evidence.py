"""Evidence before an interruption: the first command of a connection that disturbs a host is preceded by a look.

It lives in the connector, so that plain pyinfra leaves evidence as well. Collecting never stops what it precedes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyinfra import logger

from metalwright.connectors.commands import Command
from metalwright.errors import MetalwrightError
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.evidence import read_evidence
from metalwright.redfish.links import Topology

Keep = Callable[[Mapping[str, Any], str], None]
"""Keeps evidence; the text says before which request it was collected."""

HARMLESS_RESETS = ("On",)


def is_disruptive(command: Command) -> bool:
    """Whether a command can stop a host or lose what its BMC remembers: resets, updates, the clearing of a log."""
    if command.verb != "POST":
        return False
    action = command.target.rstrip("/").rsplit("/", 1)[-1]
    if action.endswith(".Reset"):
        return (command.body or {}).get("ResetType") not in HARMLESS_RESETS
    return action.endswith((".ClearLog", ".SimpleUpdate", ".StartUpdate", ".ResetBios"))


def collect(client: BlockingClient, topology: Topology, keep: Keep, command: Command) -> None:
    """Read the evidence and keep it; what goes wrong is told and stops nothing."""
    try:
        evidence = client.run(read_evidence(client.state, topology))
        for problem in evidence["problems"]:
            logger.debug("evidence of %s: %s", client.state.key, problem)
        keep(evidence, f"{command.verb} {command.target} {json.dumps(command.body)}")
    except (MetalwrightError, OSError) as error:
        logger.warning("[%s] no evidence was kept before %s: %s", client.state.key, command.target, error)
