"""pyinfra in this process: a deploy on one BMC in half a second, for tests where the process is not the point."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest
from pyinfra.api import Config, Inventory, State
from pyinfra.api.connect import connect_all, disconnect_all
from pyinfra.api.deploy import add_deploy
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.operations import run_ops
from pyinfra.api.state import StateStage
from pyinfra.context import ctx_config, ctx_state
from tests.operations.redfish.site import LabSite

from metalwright.connectors.bmcs import SITE_VARIABLE, repository_at
from metalwright.connectors.services import services_at


@dataclass
class Outcome:
    """What a run showed and did. ``planned`` and ``changed`` are names of operations; ``diff`` are lines ``a → b``.

    ``text`` has everything that was logged and that commands printed.
    """

    is_ok: bool
    planned: list[str]
    changed: list[str]
    diff: list[str]
    text: str


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += record.getMessage().splitlines()


def run_deploy(
    site: LabSite, deploy: Callable[..., Any], node: str = "lab-1", *, is_dry: bool = False, **data: Any
) -> Outcome:
    """Prepare and, unless ``is_dry``, run a deploy on the BMC of one node, with ``--diff``; ``data`` is host data."""
    handler = _Lines()
    with _alone(site, handler):
        inventory = Inventory(([(f"@redfish/{node}", data)], {}))  # type: ignore[no-untyped-call]  # pyinfra's
        state = State(inventory, Config(DIFF=True))  # type: ignore[no-untyped-call]  # pyinfra's
        with ctx_state.use(state), ctx_config.use(state.config.copy()):
            return _run(state, deploy, handler, is_dry=is_dry)


def _run(state: State, deploy: Callable[..., Any], handler: _Lines, *, is_dry: bool) -> Outcome:
    changed: list[str] = []
    is_ok = True
    planned: list[str] = []
    operations: dict[str, Any] = {}
    try:
        state.set_stage(StateStage.Connect)
        connect_all(state)
        state.set_stage(StateStage.Prepare)
        add_deploy(state, deploy)
        host = next(iter(state.inventory))
        operations = {
            _name(state, order): state.ops[host][order].operation_meta
            for order in state.get_op_order()  # type: ignore[no-untyped-call]  # pyinfra's
        }
        planned = [name for name, meta in operations.items() if meta._maybe_is_change]
        if not is_dry:
            state.set_stage(StateStage.Execute)
            run_ops(state)
            done = {name: meta for name, meta in operations.items() if meta.is_complete() and meta.did_succeed()}
            changed = [name for name, meta in done.items() if meta.did_change()]
        is_ok = not state.failed_hosts
    except PyinfraError as error:
        handler.lines.append(str(error))
        is_ok = False
    finally:
        state.set_stage(StateStage.Disconnect)
        disconnect_all(state)
    ended = [meta for meta in operations.values() if meta.is_complete()]
    handler.lines += [str(line.line) for meta in ended for line in meta._combined_output or ()]
    diff = [line.split("]", 1)[-1].strip() for line in handler.lines if " → " in line]
    return Outcome(is_ok, planned, changed, diff, "\n".join(handler.lines))


def _name(state: State, order: str) -> str:
    return sorted(state.op_meta[order].names)[0].split(" | ")[-1]


@contextmanager
def _alone(site: LabSite, handler: _Lines) -> Iterator[None]:
    """The environment of a pyinfra process in this site; what is read once in a process is read anew."""
    logger = logging.getLogger("pyinfra")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    caches: tuple[Any, ...] = (repository_at, services_at)
    for cache in caches:
        cache.cache_clear()
    with pytest.MonkeyPatch.context() as environment, patch("metalwright.connectors.redfish.end_orderly"):
        environment.setenv(SITE_VARIABLE, str(site.root))
        for name, value in site.environment.items():
            environment.setenv(name, value)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
            if services_at.cache_info().currsize:
                services_at(site.root.resolve()).workspace.journal.close()
            for cache in caches:
                cache.cache_clear()
