"""Simulated BMCs with faults for the tests of this area, and the two programs that are driven against them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from tests.operations.redfish.site import PyinfraRun, run_pyinfra
from tests.simulator.discovery.sites import Run, machine, run_cli

from metalwright.simulator.running import RunningService, service_in_thread

PASSWORD = "factory-secret"
LOGIN = {"METALWRIGHT_BMC_USER": "admin", "METALWRIGHT_BMC_PASSWORD": PASSWORD}
AT_ONCE = {"Retry-After": "0"}
"""Headers of an answer that asks for no pause before the next try."""

_hosts = count(1)

DEPLOY = """
from pyinfra import host
from pyinfra.api.command import StringCommand
from pyinfra.api.operation import operation

from metalwright.operations.redfish import power


@operation(is_idempotent=False)
def raw(commands):
    for command in commands:
        yield StringCommand(command)


raw(commands=host.data.get("commands", []))
power.state(wanted="On", _if=lambda: host.data.get("act") == "power on")
"""


@contextmanager
def bmc(**changes: Any) -> Iterator[RunningService]:
    """The BMC of one fresh machine on an address of its own; ``changes`` are those of its spec."""
    number = next(_hosts)
    with service_in_thread(machine(1, **changes), f"127.92.{number // 250}.{number % 250 + 1}") as service:
        yield service


def rule(service: RunningService, method: str | None, path: str, **do: Any) -> None:
    """Put a rule in force for requests whose path fits; see the simulator's ``rules``."""
    service.system.faults.rule(method, path, **do)


def inspect(service: RunningService, *options: str, **environment: str) -> Run:
    """``metalwright inspect URL --json`` in this process."""
    return run_cli("inspect", service.url, "--json", *options, **{**LOGIN, **environment})


def report(run: Run) -> dict[str, Any]:
    """The one report that ``inspect`` printed."""
    assert run.code == 0, run.err
    (only,) = run.json
    assert isinstance(only, dict)
    return only


def problems(run: Run) -> str:
    """The problems of the report, as text."""
    return json.dumps(report(run)["problems"])


def address_of(service: RunningService) -> str:
    """``HOST:PORT``."""
    return service.url.removeprefix("https://")


def command(verb: str, target: str, body: Mapping[str, Any] | None = None, *options: str) -> str:
    """A command of ``@redfish`` as text."""
    words = [verb, shlex.quote(target), *([shlex.quote(json.dumps(body))] if body is not None else []), *options]
    return " ".join(words)


def deploy(folder: Path, hosts: Sequence[tuple[RunningService, Mapping[str, Any]]], *options: str) -> PyinfraRun:
    """One pyinfra run over all these BMCs, each with its own data for :data:`DEPLOY`."""
    data = [(f"@redfish/{address_of(service)}", dict(values)) for service, values in hosts]
    (folder / "inventory.py").write_text(f"bmcs = {data!r}\n")
    (folder / "deploy.py").write_text(DEPLOY)
    return run_pyinfra(folder, ("-y", *options, "inventory.py", "deploy.py"), LOGIN)


def lines_of(run: PyinfraRun, service: RunningService) -> str:
    """What pyinfra printed about one BMC."""
    mark = f"[@redfish/{address_of(service)}]"
    return "\n".join(line for line in run.text.splitlines() if mark in line)
