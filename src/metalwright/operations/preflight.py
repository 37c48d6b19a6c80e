"""Is it the right system, and may we change it? Asked before anything is changed."""

from __future__ import annotations

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import FunctionCommand, operation

from metalwright.errors import DeployError
from metalwright.facts.system import System
from metalwright.model.image import STAMP_PATH
from metalwright.operations.failure import failure


@operation()
def deployed_node(node: str) -> Generator[FunctionCommand, None, None]:
    """Root access, and the stamp of ``node``; else the host fails and nothing is changed."""
    system = host.get_fact(System)
    stamp = system["stamp"]
    if system["uid"] != 0:
        yield failure(
            DeployError(
                "commands do not run as root",
                where=node,
                expected="user id 0",
                found=f"user id {system['uid']}",
                hint="inventory/nodes.py sets _sudo; the login user needs sudo without a password",
            )
        )
    elif stamp is None or stamp.get("node") != node:
        yield failure(
            DeployError(
                "this is not the system that was deployed as this node",
                where=node,
                expected=f"a stamp of {node} in {STAMP_PATH}",
                found=f"a stamp of {stamp.get('node')}" if stamp else "no stamp",
                hint=f"`metalwright provision {node}` installs it; nothing was changed",
            )
        )
    else:
        host.noop(f"{node} is the deployed system and commands run as root")
