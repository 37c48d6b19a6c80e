"""Failing one host in words, without stopping the others and without a traceback.

pyinfra stops every host at an exception in an operation's body. Operations on nodes are made with
:func:`node_operation`, in which a :class:`DeployError` fails its own host alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

from pyinfra import host as current_host
from pyinfra import logger
from pyinfra.api import FunctionCommand, Host, State, StringCommand, operation
from pyinfra.api.exceptions import PyinfraError
from pyinfra.api.operation import PyinfraOperation
from pyinfra.context import ctx_host

from metalwright.errors import DeployError
from metalwright.facts.answers import NO_ANSWER, NodeFact

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Commands = Generator[StringCommand | FunctionCommand, None, None]


def node_operation(body: Callable[Parameters, Commands]) -> PyinfraOperation[Parameters]:
    """A pyinfra operation whose :class:`DeployError` fails the host and shows its words."""

    @wraps(body)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Commands:
        try:
            yield from body(*args, **kwargs)
        except DeployError as error:
            yield failure(error)

    made: PyinfraOperation[Parameters] = operation()(guarded)
    return made


def answer(fact: type[NodeFact[Answer]], **arguments: Any) -> Answer:
    """What the fact answers on the current host.

    Raises:
        DeployError: it gave no answer; pyinfra has shown what it gave instead.
    """
    try:
        value: Answer = current_host.get_fact(fact, **arguments)
    except PyinfraError:  # this host was the last one; its failure is told here like that of any other
        value = NO_ANSWER
    if value is NO_ANSWER:
        raise DeployError(
            f"{fact.__name__} gave no answer",
            where=current_host.name,
            hint="run pyinfra with -vv: what the node printed is told there; no default is taken for it",
        )
    return value


def failure(error: DeployError) -> FunctionCommand:
    """A command that fails its host with the error."""
    return step(_raise, error)


def step(function: Callable[..., None], *arguments: object) -> FunctionCommand:
    """A command that calls ``function`` on the host; its :class:`DeployError` fails the host."""
    return FunctionCommand(_take, [function, *arguments], {})


def _take(state: State, host: Host, function: Callable[..., None], *arguments: object) -> bool:
    """pyinfra gives ``state`` and ``host`` to functions that name them, and takes their answer as the outcome."""
    del state
    try:
        with ctx_host.use(host):
            function(*arguments)
    except DeployError as error:
        for line in filter(None, str(error).splitlines()):
            logger.error(f"{host.print_prefix}{line}")
        return False
    return True


def _raise(error: DeployError) -> NoReturn:
    raise error
