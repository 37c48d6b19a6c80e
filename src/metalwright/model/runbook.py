"""A literate runbook: prose that a person can follow by hand, and the same steps for the tool to run."""

from __future__ import annotations

from typing import Literal

from metalwright.model.base import Frozen

StepKind = Literal["commands", "by-hand"]


class RunbookCommand(Frozen):
    """One ``$`` line. ``needs_confirmation`` stops before it; ``ok_codes`` are the exit codes that let it go on."""

    text: str
    line: int
    needs_confirmation: bool = False
    ok_codes: tuple[int, ...] = (0,)


class RunbookStep(Frozen):
    """One numbered section. ``commands`` is empty for a step that only hands can do.

    ``prose`` is Markdown; ``if_fails`` is the Markdown from the first paragraph that begins with a bold *If*, and
    ``if_fails_commands`` are the commands in it, which are never run by themselves.
    """

    title: str
    line: int
    prose: str
    commands: tuple[RunbookCommand, ...] = ()
    if_fails: str = ""
    if_fails_commands: tuple[RunbookCommand, ...] = ()

    @property
    def kind(self) -> StepKind:
        """Whether the tool can do it."""
        return "commands" if self.commands else "by-hand"


class Runbook(Frozen):
    """One file of ``runbooks/``. ``digest`` names its bytes: an interrupted run goes on in the same text only."""

    name: str
    title: str
    intro: str
    steps: tuple[RunbookStep, ...]
    digest: str
