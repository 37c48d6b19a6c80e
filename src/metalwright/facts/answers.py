"""Facts of a node: an answer, or none. Silence is never a default value."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

Answer = TypeVar("Answer")


class NoAnswer(str):
    """Text, so that ``pyinfra … fact`` can print it."""

    __slots__ = ()


NO_ANSWER: Final[Any] = NoAnswer("no answer")


class NodeFact(FactBase[Answer], Generic[Answer]):
    """A fact whose command answers with marked lines; a missing program, a refused sudo and noise are no answer."""

    @staticmethod
    def default() -> Answer:
        """What pyinfra takes where a command failed or printed nothing."""
        return NO_ANSWER  # type: ignore[no-any-return]  # operations compare with it and never use it


def all_marked(output: list[str], mark: str) -> tuple[str, ...]:
    """The rest of each line that begins with ``mark``; what a login shell prints around them does not count."""
    return tuple(line.removeprefix(mark) for line in output if line.startswith(mark))


def marked(output: list[str], mark: str) -> str:
    """The rest of the one line that begins with ``mark``; raises FactProcessError when there is not exactly one."""
    found = all_marked(output, mark)
    if len(found) != 1:
        raise FactProcessError(f"expected one line {mark}…, found {output[-3:]}")
    return found[0].strip()
