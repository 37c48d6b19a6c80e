"""A stand-in for pyinfra's host, so that an operation's commands can be listed without a connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from pyinfra.api import FunctionCommand, StringCommand
from pyinfra.api.state import StateStage
from pyinfra.context import ctx_host


@dataclass
class StandInHost:
    """Answers facts from ``facts`` (fact class name → value); remembers why there was nothing to do."""

    facts: dict[str, Any]
    name: str = "lab-1"
    print_prefix: str = "[lab-1] "
    noops: list[str] = field(default_factory=list)
    state: Any = field(
        default_factory=lambda: SimpleNamespace(
            config=SimpleNamespace(DIFF=False),
            current_stage=StateStage.Prepare,
            op_meta={"op": SimpleNamespace(names={"Operation"})},
        )
    )
    current_op_hash: str = "op"

    def get_fact(self, fact: type, **arguments: Any) -> Any:
        value = self.facts[fact.__name__]
        return value(**arguments) if callable(value) else value

    def noop(self, why: str) -> None:
        self.noops.append(why)


def commands_of(operation: Callable[..., Any], facts: dict[str, Any], **arguments: Any) -> tuple[list[Any], list[str]]:
    """The commands that an operation yields (text, or the function command), and its reasons to do nothing."""
    host = StandInHost(facts)
    with ctx_host.use(host):
        commands = list(operation._inner(**arguments))  # type: ignore[attr-defined]  # pyinfra sets it
    return [command if isinstance(command, FunctionCommand) else _text(command) for command in commands], host.noops


def run_function(command: FunctionCommand, facts: dict[str, Any]) -> None:
    """Run a function command as pyinfra does on the host."""
    function, *arguments = command.args
    with ctx_host.use(StandInHost(facts)):
        function(*arguments)


def _text(command: StringCommand) -> str:
    return command.get_raw_value()
