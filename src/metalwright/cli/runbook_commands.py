"""What a ``$`` line of a runbook may be, and whether it exists: our own commands, pyinfra, and the site's scripts."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup
from typer.exceptions import TyperException

from metalwright.errors import UsageError
from metalwright.model.runbook import Runbook, RunbookCommand, RunbookStep

_PLACEHOLDER = re.compile(r"[A-Z][A-Z_]+")
_SAMPLE = "sample-1"


def arguments(command: RunbookCommand, values: Mapping[str, str]) -> list[str]:
    """The words of a command, with ``NODE`` and its like replaced.

    Raises:
        UsageError: a placeholder has no value, or the quotes do not match.
    """
    words = []
    for word in _words(command):
        if _PLACEHOLDER.fullmatch(word) and word not in values:
            raise UsageError("a placeholder has no value", where=command.text, found=word, hint=f"--set {word}=…")
        words.append(values.get(word, word))
    return words


def placeholders(command: RunbookCommand) -> list[str]:
    """The capital words that stand for values, in order."""
    return [word for word in _words(command) if _PLACEHOLDER.fullmatch(word)]


def program(words: list[str], site: Path) -> list[str]:
    """The command line to start, from the words of a runbook.

    Raises:
        UsageError: the program is none that a runbook may run.
    """
    name, *rest = words
    if name == "metalwright":
        return [sys.executable, "-m", "metalwright.cli", "--site", str(site), *rest]
    if name == "pyinfra":
        return [str(Path(sys.executable).with_name("pyinfra")), *rest]
    if name.startswith("runbooks/"):
        return [sys.executable, name, *rest]
    raise UsageError(
        "a runbook does not run this program",
        where=" ".join(words),
        expected="metalwright, pyinfra or runbooks/<script>.py",
        hint="write it as an example (<!-- example -->) for a person to type",
    )


def answered(words: list[str]) -> list[str]:
    """The words with ``--yes``, where the command knows that option: who said yes once is not asked again."""
    return [*words, "--yes"] if words[0] == "metalwright" and _usage_problem([*words[1:], "--yes"]) is None else words


def problems(runbook: Runbook, site: Path) -> list[str]:
    """What is wrong with the commands of a runbook, one line each: ``file:line: …``."""
    found = []
    for step in runbook.steps:
        for command in (*step.commands, *step.if_fails_commands):
            told = _problem(command, site)
            if told is not None:
                found.append(f"runbooks/{runbook.name}.md:{command.line}: {command.text}: {told}")
        found += _without_way_out(runbook, step)
    return found


def _without_way_out(runbook: Runbook, step: RunbookStep) -> list[str]:
    if not step.commands or step.if_fails:
        return []
    return [f"runbooks/{runbook.name}.md:{step.line}: step {step.title!r} does not say what to do **If** it fails"]


def _words(command: RunbookCommand) -> list[str]:
    try:
        return shlex.split(command.text)
    except ValueError as error:
        raise UsageError("the command cannot be read", where=command.text, found=str(error)) from error


def _problem(command: RunbookCommand, site: Path) -> str | None:
    try:
        words = arguments(command, dict.fromkeys(placeholders(command), _SAMPLE))
        program(words, site)
    except UsageError as error:
        return error.what
    if words[0] == "metalwright":
        return _usage_problem(words[1:])
    files = [word for word in words if word.endswith(".py")]
    missing = [name for name in files if not (site / name).is_file()]
    return f"no such file: {', '.join(missing)}" if missing else None


def _usage_problem(words: list[str]) -> str | None:
    """What the command line parser says; the command itself is not run."""
    from metalwright.cli.app import app

    command: Any = typer.main.get_command(app)
    try:
        context = command.make_context("metalwright", words)
        while isinstance(command, TyperGroup):
            rest = [*context._protected_args, *context.args]
            if not rest:
                return "names no command"
            name, command, rest = command.resolve_command(context, rest)
            context = command.make_context(name, rest, parent=context)
    except TyperException as error:
        return str(error.format_message())
    return None
