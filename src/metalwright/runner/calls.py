"""Which pyinfra process runs a deploy of the site on one node: its files, its lock, its run, its log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metalwright.errors import DeployError
from metalwright.journal.locks import NodeLock, child_environment
from metalwright.model.target import TARGET_VARIABLE
from metalwright.runner.pyinfra_process import PyinfraCall
from metalwright.workspace import RUN_VARIABLE, Workspace

BMC_INVENTORY = "inventory/bmcs.py"
OS_INVENTORY = "inventory/nodes.py"


def pyinfra_call(
    workspace: Workspace,
    node: str,
    deploy: str,
    *,
    run: str,
    lock: NodeLock | None = None,
    inventory: str = BMC_INVENTORY,
    timeout_s: float = 900.0,
    data: Mapping[str, str] | None = None,
) -> PyinfraCall:
    """Return the call of ``deploys/<deploy>.py`` on the node; ``data`` is host data, ``lock`` is inherited.

    Raises:
        DeployError: the site repository has no such deploy.
    """
    file = Path("deploys") / f"{deploy}.py"
    if not (workspace.paths.root / file).exists():
        raise DeployError(
            "the site repository has no such deploy",
            where=str(file),
            hint="`metalwright init` in an empty directory shows the files that belong there",
        )
    return PyinfraCall(
        site=workspace.paths.root,
        inventory=inventory,
        deploy=str(file),
        host=node,
        timeout_s=timeout_s,
        environment={
            RUN_VARIABLE: run,
            TARGET_VARIABLE: _target(workspace, node),
            **(child_environment([lock]) if lock is not None else {}),
        },
        pass_fds=[lock.descriptor] if lock is not None else [],
        log=workspace.paths.state / "logs" / run / f"{node}.log",
        data=data or {},
    )


def _target(workspace: Workspace, node: str) -> str:
    """The target for the child's environment; empty where the rack file's pin counts, whatever we inherited."""
    target = workspace.targets.get(node)
    return "" if target is None else target.model_dump_json()
