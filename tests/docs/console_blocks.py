"""The ``console`` fences of the documentation: found, read, run, and compared with the output that is shown.

A command stands after ``$ ``; a line that ends in a backslash goes on in the next, and the lines of a here-document
stand after ``> ``. Lines below a command are its
output: ``...`` or ``…`` stand for any text, a line of only ``...`` for any lines, runs of blanks for one blank. A
command without output may print anything. A command must exit 0, unless the next one is ``echo $?``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.patient import run_patiently

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SHELL_LANGUAGES = ("bash", "sh", "shell", "shell-session", "zsh")

_FENCE = re.compile(r"^(?P<indent>\s*)(?P<ticks>`{3,})(?P<language>[\w-]*)")
_MARK = re.compile(r"^\s*<!--\s*(?P<key>run|not run):\s*(?P<value>.+?)\s*-->\s*$")
COMMAND_TIMEOUT_S = 120
LOOPBACK = "127.88."
"""Loopback prefix of simulated machines in the pages; each test process takes one of its own instead."""


@dataclass(frozen=True)
class Command:
    """One command line, where it stands, and the output lines shown below it (``None``: none shown)."""

    text: str
    line: int
    shown: tuple[str, ...] | None


@dataclass(frozen=True)
class Block:
    """One fence. ``where`` is site, clone, lab or ``not run``; ``reason`` says why it is not run."""

    page: Path
    line: int
    language: str
    where: str
    reason: str
    commands: tuple[Command, ...]


def read_blocks(page: Path) -> Iterator[Block]:
    """All fences of a page, in order; only ``console`` ones have commands."""
    lines = page.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is None:
            number += 1
            continue
        end = _fence_end(lines, number, fence["ticks"])
        body = [line.removeprefix(fence["indent"]) for line in lines[number + 1 : end]]
        where, reason = _mark_above(lines, number)
        commands = tuple(_commands(body, number + 2)) if fence["language"] == "console" else ()
        yield Block(page, number + 1, fence["language"], where, reason, commands)
        number = end + 1


def _fence_end(lines: list[str], start: int, ticks: str) -> int:
    for number in range(start + 1, len(lines)):
        if lines[number].strip() == ticks:
            return number
    raise AssertionError(f"fence of line {start + 1} is never closed")


def _mark_above(lines: list[str], fence: int) -> tuple[str, str]:
    mark = _MARK.match(lines[fence - 1]) if fence else None
    if mark is None:
        return "site", ""
    return ("not run", mark["value"]) if mark["key"] == "not run" else (mark["value"], "")


def _commands(body: list[str], first_line: int) -> Iterator[Command]:
    number = 0
    while number < len(body):
        start = number
        assert body[start].startswith("$ "), f"line {first_line + start}: output without a command above it"
        text = body[start][2:]
        while text.endswith("\\"):
            number += 1
            text = text[:-1] + body[number].strip().removeprefix("> ")
        number += 1
        while "<<" in text and number < len(body) and re.match(r">( |$)", body[number]):
            text += "\n" + body[number][2:]
            number += 1
        shown = []
        while number < len(body) and not body[number].startswith("$ "):
            shown.append(body[number])
            number += 1
        yield Command(text, first_line + start, tuple(shown) if any(line.strip() for line in shown) else None)


def matches(shown: tuple[str, ...], output: str) -> bool:
    """Whether a real output is the one that the page shows."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else _line_pattern(line) + r"\n" for line in _tidy("\n".join(shown))
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _tidy(output))) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in re.split(r"\.\.\.|…", line))


def _tidy(text: str) -> list[str]:
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]


class Session:
    """One shell for one page: directory, exported variables and ``$?`` carry over from command to command."""

    def __init__(self, directory: Path, scratch: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self._variables = scratch / "variables"
        self._where = scratch / "where"
        self._environment = environment
        self.status = 0

    def run(self, command: str, timeout_s: float = COMMAND_TIMEOUT_S) -> tuple[int, str]:
        """Exit code, and stdout with stderr, of one command."""
        own_loopback = f"127.{100 + os.getpid() % 100}."
        script = "\n".join(
            [
                f"[ ! -f {self._quoted(self._variables)} ] || . {self._quoted(self._variables)}",
                f"(exit {self.status})",
                command.replace(LOOPBACK, own_loopback),
                "status=$?",
                f"export -p > {self._quoted(self._variables)}; pwd > {self._quoted(self._where)}; exit $status",
            ]
        )
        done = run_patiently(
            ["bash", "-c", script],
            cwd=self.directory,
            env=self._environment,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
        )
        if self._where.exists():
            self.directory = Path(self._where.read_text(encoding="utf-8").strip())
        self.status = done.returncode
        return done.returncode, done.stdout.replace(own_loopback, LOOPBACK)

    @staticmethod
    def _quoted(path: Path) -> str:
        return shlex.quote(str(path))


def plain_environment(home: Path) -> dict[str, str]:
    """An environment with the clone's programs and without colours, terminals and foreign settings."""
    keep = {key: os.environ[key] for key in ("LANG", "TMPDIR", "METALWRIGHT_CACHE") if key in os.environ}
    return {
        **keep,
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "HOME": str(home),
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYINFRA_PROGRESS": "off",
    }


def run_blocks(blocks: list[Block], session: Session, timeout_s: float = COMMAND_TIMEOUT_S) -> None:
    """Run commands in order; a wrong exit code or output is an assertion error that names page and line."""
    commands = [(block, command) for block in blocks for command in block.commands]
    for index, (block, command) in enumerate(commands):
        code, output = session.run(command.text, timeout_s)
        place = f"{block.page.relative_to(ROOT)}:{command.line}: $ {command.text}"
        may_fail = index + 1 < len(commands) and commands[index + 1][1].text == "echo $?"
        assert code == 0 or may_fail, f"{place}\nexited {code}:\n{output}"
        if command.shown is not None:
            shown = "\n".join(command.shown)
            assert matches(command.shown, output), f"{place}\nshows:\n{shown}\nbut printed:\n{output}"
