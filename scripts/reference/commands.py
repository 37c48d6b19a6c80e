"""The page of the command line, read from the typer application."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from metalwright.cli import app as cli
from metalwright.cli.commands import COMMANDS

NOTE = (
    "stdout is data, stderr is progress and logs. Exit codes: {done} done, or no difference; {error} error; "
    "{difference} differences or findings; {usage} wrong usage; 130 interrupted.\n"
)


def render() -> str:
    """Markdown of every command with its arguments and options."""
    root: Any = typer.main.get_command(cli.app)
    codes = {
        "done": cli.EXIT_OK,
        "error": cli.EXIT_ERROR,
        "difference": cli.EXIT_DIFFERENCE,
        "usage": cli.EXIT_USAGE,
    }
    parts = ["# Commands\n", NOTE.format(**codes), "## Options of every command\n", _parameters(root)]
    for name in COMMANDS:
        parts += _command(root.get_command(None, name), f"metalwright {name}")
    return "\n".join(parts)


def _command(command: Any, path: str) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name in command.commands:
            yield from _command(command.commands[name], f"{path} {name}")
        return
    arguments = [_argument(item) for item in command.params if item.param_type_name == "argument"]
    usage = " ".join([path, *arguments, *(["[OPTIONS]"] if _options(command) else [])])
    yield f"## {path}\n"
    yield f"```text\n{usage}\n```\n"
    yield _escape(re.sub(r"\n\n\s*", "\n\n", (command.help or "").strip())) + "\n"
    if arguments or _options(command):
        yield _parameters(command)


def _argument(item: Any) -> str:
    name = (item.metavar or item.name.upper()).strip("[]….") + ("…" if item.nargs == -1 else "")
    return name if item.required else f"[{name}]"


def _options(command: Any) -> list[Any]:
    return [item for item in command.params if item.param_type_name == "option" and not item.hidden]


def _parameters(command: Any) -> str:
    rows = ["| name | default | means |", "|---|---|---|"]
    for item in command.params:
        if getattr(item, "hidden", False):
            continue
        is_option = item.param_type_name == "option"
        names = (
            ", ".join(f"`{name}`" for name in item.opts) if is_option else f"`{_argument(item)}`".replace("|", "\\|")
        )
        if is_option and not item.is_flag and item.metavar:
            names += f" {item.metavar}"
        text = _escape(item.help or "")
        if item.envvar:
            text += f" Environment: `{item.envvar}`."
        rows.append(f"| {names} | {_default(item)} | {text} |")
    return "\n".join(rows) + "\n"


def _default(item: Any) -> str:
    value = item.default
    if callable(value) or value is None or value is False or value == () or "Sentinel" in type(value).__name__:
        return "–"
    return f"`{value}`"


def _escape(text: str) -> str:
    return re.sub(r"(?<!`)<([\w-]+)>", r"\\<\1>", text).replace("|", "\\|")
