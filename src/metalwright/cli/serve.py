"""``metalwright serve``: the boot server of a site."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
from typing import Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.imaging.server import BootServer
from metalwright.workspace import Workspace, open_workspace

PR_SET_PDEATHSIG = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve")(serve)


def serve(
    context: typer.Context,
    with_parent: Annotated[int | None, typer.Option("--with-parent", hidden=True)] = None,
) -> int:
    """Serve boot media and images, and speak with deploy ramdisks, until Ctrl-C.

    provision starts one by itself when none is running; plain pyinfra needs this one.
    """
    cli: CliContext = context.obj
    if with_parent is not None:
        _die_with_parent(with_parent)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with open_workspace(cli.site) as workspace:
        settings = workspace.repository.site.boot_server
        cli.err.print(f"boot server on {settings.listen}: http {settings.http_port}, https {settings.https_port}")
        asyncio.run(_serve(workspace))
    return 0


async def _serve(workspace: Workspace) -> None:
    settings = workspace.repository.site.boot_server
    server = BootServer(
        workspace.paths.state,
        workspace.journal.deployments,
        workspace.journal.go_guard(),
        listen=settings.listen,
        http_port=settings.http_port,
        https_port=settings.https_port,
        node_host=settings.address_for_node,
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await server.run(stop)


def _die_with_parent(parent: int) -> None:
    """Ask the kernel to end this process when its parent ends; the parent may be gone already, to init or a reaper."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
