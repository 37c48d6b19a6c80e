"""``metalwright simulate``: thousands of BMCs in one process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from metalwright.cli.context import CliContext
from metalwright.errors import LabError
from metalwright.simulator.fleet.control import Control
from metalwright.simulator.fleet.plan import FaultGroup, place, read_faults
from metalwright.simulator.fleet.service import Fleet, Manner, running_fleet
from metalwright.simulator.fleet.tree import Identity, Tree, read_capture, read_captures
from metalwright.simulator.loopback import ensure_loopback_up
from metalwright.simulator.profiles import NAMES, load_profile

CONTROL_ADDRESS = "127.0.0.1"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    context: typer.Context,
    prefix: Annotated[str, typer.Option(help="Addresses of the BMCs, inside 127.0.0.0/8.")] = "127.91.0.0/24",
    count: Annotated[int, typer.Option(help="How many BMCs; default: what --profile asks for.", min=0)] = 0,
    profile: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:COUNT]", help="Kind of machine, repeatable; default: all."),
    ] = None,
    capture: Annotated[
        Path | None, typer.Option(help="A file, or a folder of files, NAME.json: URI → body, instead of profiles.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of all BMCs; 0 takes a free one.", min=0, max=65535)] = 8443,
    control_port: Annotated[int, typer.Option(help="Control port on 127.0.0.1; 0 takes a free one.", min=0)] = 0,
    latency_ms: Annotated[float, typer.Option(help="Milliseconds that each answer takes.", min=0)] = 0.0,
    in_flight: Annotated[int, typer.Option(help="Requests that a BMC works on at once; 0: no limit.", min=0)] = 0,
    expand: Annotated[bool, typer.Option("--expand", help="The BMCs offer $expand for collections.")] = False,
    when_busy: Annotated[str, typer.Option(help="What more requests meet: queue, or 503.")] = "queue",
    faults: Annotated[Path | None, typer.Option(help="YAML: which BMCs misbehave how.")] = None,
    log: Annotated[int, typer.Option(help="Requests that each BMC remembers.", min=0)] = 100,
    list_profiles: Annotated[bool, typer.Option("--list", help="Show the profiles and end.")] = False,
) -> None:
    """Run BMCs for tests: one process, one TLS port, one address each.

    Ends at Ctrl-C or SIGTERM. The line `ready` says where they are, and where the control port is.
    """
    cli: CliContext = context.obj
    if list_profiles:
        for name in NAMES:
            cli.out.print(f"{name:24} {load_profile(name).summary}", markup=False, highlight=False)
        return
    if when_busy not in ("queue", "503"):
        raise LabError("no such answer to a busy BMC", where="--when-busy", expected="queue, 503", found=when_busy)
    if capture is not None and profile:
        raise LabError("a capture stands instead of profiles", where="--capture and --profile", expected="one of them")
    kinds = [(tree, 0) for tree in _captures(capture)] if capture is not None else _kinds(profile or list(NAMES))
    bmcs = place(prefix, kinds, count or max(sum(number for _, number in kinds), len(kinds)))
    manner = Manner(latency_ms / 1000, in_flight, when_busy == "503", log, expand)
    groups = read_faults(faults) if faults is not None else []
    ensure_loopback_up()
    asyncio.run(_run(cli, bmcs, manner, groups, (port, control_port), faults))


def _captures(path: Path) -> list[Tree]:
    return [read_capture(path)] if path.is_file() else read_captures(path)


def _kinds(words: Sequence[str]) -> list[tuple[Tree, int]]:
    kinds = []
    for word in words:
        name, colon, number = word.partition(":")
        if colon and not (number.isdecimal() and int(number)):
            expected = "NAME, or NAME:COUNT with a count of at least 1"
            raise LabError("this is no number of BMCs", where=f"--profile {word}", expected=expected)
        kinds.append((load_profile(name).tree, int(number) if colon else 0))
    return kinds


async def _run(
    cli: CliContext,
    bmcs: Sequence[tuple[Identity, Tree]],
    manner: Manner,
    groups: Sequence[FaultGroup],
    ports: tuple[int, int],
    faults: Path | None,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_fleet(bmcs, port=ports[0], manner=manner, groups=groups) as fleet:
        for text in fleet.misaimed(groups):
            cli.err.print(f"warning: {faults}: {text}", markup=False, highlight=False, soft_wrap=True)
        control = Control(fleet)
        control_port = await control.start(CONTROL_ADDRESS, ports[1])
        _announce(cli, fleet, bmcs, control_port)
        with contextlib.suppress(asyncio.CancelledError):
            await stop.wait()
        await control.stop()


def _announce(cli: CliContext, fleet: Fleet, bmcs: Sequence[tuple[Identity, Tree]], control_port: int) -> None:
    first, last = bmcs[0][0].address, bmcs[-1][0].address
    cli.out.print(
        f"ready: {len(bmcs)} BMCs at https://{first}:{fleet.port} … {last}, control http://{CONTROL_ADDRESS}:{control_port}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    cli.out.file.flush()
