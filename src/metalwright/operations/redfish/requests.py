"""The commands that operations yield."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeAlias

from pyinfra import logger
from pyinfra.api.command import QuoteString, StringCommand
from pyinfra.api.facts import FactBase
from pyinfra.context import host

from metalwright.errors import DeployError, MetalwrightError
from metalwright.operations.differences import line as line
from metalwright.operations.differences import show_diff as show_diff

P = ParamSpec("P")

Commands: TypeAlias = Generator[StringCommand, None, None]
"""What the body of an operation is."""


def contained(body: Callable[P, Commands]) -> Callable[P, Commands]:
    """Make the body of an operation fail its own host only: an exception in it would stop every host."""

    @wraps(body)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> Commands:
        try:
            yield from body(*args, **kwargs)
        except MetalwrightError as error:
            yield refuse(error)
        except Exception as error:
            logger.debug("unexpected error in an operation", exc_info=True)
            yield refuse(f"unexpected {type(error).__name__} in operation {body.__name__}: {error}")

    return guarded


def look(fact: type[FactBase[Any]]) -> Any:
    """Return a fact, or None when the BMC did not answer; why is printed, and the operation then refuses.

    pyinfra's own way of failing a host for a fact stops everything when it is the last one.
    """
    return host.get_fact(fact, _ignore_errors=True)


def _json(body: Mapping[str, Any]) -> QuoteString:
    return QuoteString(json.dumps(body, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class Proof:
    """What must be seen after a write, in the same command: ``shows``, and nothing of ``unlike`` (a list: any of it).

    ``uri`` is where to look (None: what was written). A write that was accepted without effect is sent ``tries`` times
    in all; then it fails, or with ``is_required`` false is only told.
    """

    shows: Mapping[str, Any]
    unlike: Mapping[str, Any] = field(default_factory=dict)
    uri: str | None = None
    within_s: float = 0
    tries: int = 1
    is_required: bool = True
    hint: str | None = None

    def words(self) -> list[str | QuoteString]:
        """The options of the command."""
        words: list[str | QuoteString] = ["--shows", _json(self.shows), "--within", f"{self.within_s:g}"]
        words += ["--unlike", _json(self.unlike)] if self.unlike else []
        words += ["--proof", QuoteString(self.uri)] if self.uri else []
        words += ["--tries", str(self.tries)] if self.tries > 1 else []
        words += ["--hint", QuoteString(self.hint)] if self.hint else []
        return words + ([] if self.is_required else ["--optional"])


def patch(
    uri: str,
    body: Mapping[str, Any],
    *,
    proof: Proof | None = None,
    is_unproven: bool = False,
    is_optional: bool = False,
) -> StringCommand:
    """Change properties of ``uri``. ``is_unproven``: a lost answer is settled by what follows.

    ``is_optional``: a refusal is said and does not fail.
    """
    flags = [*_ending(proof, is_unproven), *(["--optional"] if is_optional else [])]
    return StringCommand("PATCH", QuoteString(uri), _json(body), *flags)


def post(
    uri: str,
    body: Mapping[str, Any],
    *,
    proof: Proof | None = None,
    is_unproven: bool = False,
    or_patch: str | None = None,
) -> StringCommand:
    """Call the action at ``uri``. ``is_unproven``: a lost answer is settled by what follows.

    ``or_patch``: the member that is written instead where the collection takes no new ones.
    """
    flags = [*_ending(proof, is_unproven), *(["--or-patch", or_patch] if or_patch else [])]
    return StringCommand("POST", QuoteString(uri), _json(body), *flags)


def _ending(proof: Proof | None, is_unproven: bool) -> list[str | QuoteString]:
    if proof is not None:
        return proof.words()
    return ["--unproven"] if is_unproven else []


def delete(uri: str) -> StringCommand:
    """Remove the member at ``uri``."""
    return StringCommand("DELETE", QuoteString(uri))


def absent(uri: str, *, within_s: float = 0) -> StringCommand:
    """Fail unless the member is gone within the time."""
    within = ["--within", f"{within_s:g}"] if within_s else []
    return StringCommand("ABSENT", QuoteString(uri), *within)


def expect(
    uri: str,
    wanted: Mapping[str, Any],
    *,
    unlike: Mapping[str, Any] | None = None,
    within_s: float = 0,
    is_optional: bool = False,
    hint: str | None = None,
) -> StringCommand:
    """Fail unless the resource shows these values, and none of ``unlike``, within the time.

    ``is_optional``: say so instead.
    """
    options: list[str | QuoteString] = ["--within", f"{within_s:g}"] if within_s else []
    options += ["--unlike", _json(unlike)] if unlike else []
    options += ["--hint", QuoteString(hint)] if hint else []
    return StringCommand("EXPECT", QuoteString(uri), _json(wanted), *options, *(["--optional"] if is_optional else []))


def not_offered(what: str, *, is_required: bool) -> Commands:
    """Say that this BMC does not have ``what``; refuse only where the site requires it."""
    if is_required:
        yield refuse(f"this BMC offers no {what}, and the site requires it")
        return
    host.log(f"this BMC offers no {what}", logger.warning)
    host.noop(f"{what}: not offered")


def refuse(reason: object) -> StringCommand:
    """Fail this host, and only this one, with a reason."""
    return StringCommand("REFUSE", QuoteString(str(reason)))


def unreadable(what: str) -> StringCommand:
    """Refuse because a fact is missing: what is unknown is never changed."""
    hint = "see the error above; run again when the BMC tells it"
    return refuse(DeployError(f"the BMC did not tell {what}, so nothing is changed", where=host.name, hint=hint))
