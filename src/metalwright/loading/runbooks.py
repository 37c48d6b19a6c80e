"""``runbooks/*.md`` → :class:`~metalwright.model.runbook.Runbook`, every error with file and line.

A runbook is plain Markdown. Its title is the only ``#`` heading; each ``## N. Title`` is a step; its ``console``
fences hold the commands, one a line after ``$ ``. What follows a paragraph that begins with a bold *If* is for the
case that the step fails. An HTML comment right before a fence changes it: ``<!-- confirm -->`` asks first,
``<!-- ok: 0 2 -->`` names the exit codes that are no failure, ``<!-- example -->`` only shows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from metalwright.errors import LoadingError, UsageError
from metalwright.model.runbook import Runbook, RunbookCommand, RunbookStep

_STEP = re.compile(r"(\d+)\.\s+(.+)")
_MARK = re.compile(r"<!--\s*(confirm|example|ok:\s*[\d ]+?)\s*-->")
_IF = re.compile(r"\*\*If\b")
_PROMPT = "$ "


def list_runbooks(root: Path) -> tuple[Path, ...]:
    """The Markdown files of ``<root>/runbooks``, by name."""
    return tuple(sorted((root / "runbooks").glob("*.md")))


def read_runbook(root: Path, name: str) -> Runbook:
    """Read one runbook of a site by its name.

    Raises:
        UsageError: there is no such runbook.
        LoadingError: the file does not have the shape of a runbook; file and line are named.
    """
    path = root / "runbooks" / f"{name}.md"
    if path not in list_runbooks(root):
        known = ", ".join(item.stem for item in list_runbooks(root))
        raise UsageError("no such runbook", where=name, hint=f"known runbooks: {known or 'none'}")
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadingError("the runbook cannot be read", where=str(path), found=str(error)) from error
    return parse_runbook(text, name, where=str(path.relative_to(root)))


def parse_runbook(text: str, name: str, *, where: str) -> Runbook:
    """Parse the Markdown of a runbook; raises :class:`LoadingError` as ``where:line``."""
    tokens = MarkdownIt("commonmark").parse(text)
    sections = _sections(tokens, text.splitlines(), where)
    head, *rest = sections
    if not rest:
        raise LoadingError("the runbook has no steps", where=where, expected="sections like `## 1. Look first`")
    for number, section in enumerate(rest, 1):
        if section.number != number:
            raise LoadingError(
                "the steps are not numbered in order",
                where=f"{where}:{section.line}",
                expected=f"## {number}. …",
                found=f"## {section.number}. {section.title}",
            )
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    return Runbook(
        name=name, title=head.title, intro=head.prose(), steps=tuple(item.step() for item in rest), digest=digest
    )


@dataclass
class _Section:
    """Lines of one heading to the next, and the commands found in them."""

    number: int
    title: str
    line: int
    lines: Sequence[str]
    first: int
    end: int = 0
    fails_from: int | None = None
    commands: list[RunbookCommand] = field(default_factory=list)
    if_fails_commands: list[RunbookCommand] = field(default_factory=list)

    def prose(self) -> str:
        return _text(self.lines, self.first, self.fails_from or self.end)

    def step(self) -> RunbookStep:
        return RunbookStep(
            title=self.title,
            line=self.line,
            prose=self.prose(),
            commands=tuple(self.commands),
            if_fails="" if self.fails_from is None else _text(self.lines, self.fails_from, self.end),
            if_fails_commands=tuple(self.if_fails_commands),
        )


def _sections(tokens: Sequence[Token], lines: Sequence[str], where: str) -> list[_Section]:
    sections: list[_Section] = []
    mark: str | None = None
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            _begin(sections, token, tokens[number + 1].content, lines, where)
        elif not sections:
            raise LoadingError("the runbook does not begin with its title", where=f"{where}:1", expected="# Title")
        elif token.type == "paragraph_open" and token.level == 0 and _IF.match(tokens[number + 1].content):
            sections[-1].fails_from = sections[-1].fails_from or _first_line(token)
        elif token.type == "fence" and token.info.split()[:1] == ["console"]:
            _take_commands(sections[-1], token, mark, where)
        mark = _mark(token, mark)
    if not sections:
        raise LoadingError("the runbook is empty", where=where, expected="# Title, and steps")
    sections[-1].end = len(lines)
    return sections


def _begin(sections: list[_Section], token: Token, title: str, lines: Sequence[str], where: str) -> None:
    line = _first_line(token)
    place = f"{where}:{line + 1}"
    if (token.tag == "h1") != (not sections):
        raise LoadingError("a runbook has one title, and it comes first", where=place, found=title)
    if token.tag not in ("h1", "h2"):
        return
    step = _STEP.fullmatch(title)
    if token.tag == "h2" and step is None:
        raise LoadingError("a section is not a step", where=place, expected="## N. Title", found=f"## {title}")
    if sections:
        sections[-1].end = line
    number, name = (int(step[1]), step[2]) if step and token.tag == "h2" else (0, title)
    sections.append(_Section(number, name, line + 1, lines, line + 1))


def _take_commands(section: _Section, token: Token, mark: str | None, where: str) -> None:
    if mark == "example":
        return
    if section.number == 0:
        raise LoadingError("a command stands before the first step", where=f"{where}:{_first_line(token) + 1}")
    ok_codes = tuple(int(code) for code in mark[3:].split()) if mark and mark.startswith("ok:") else (0,)
    target = section.commands if section.fails_from is None else section.if_fails_commands
    for offset, line in enumerate(token.content.splitlines(), _first_line(token) + 2):
        if line.startswith(_PROMPT):
            target.append(
                RunbookCommand(
                    text=line.removeprefix(_PROMPT).strip(),
                    line=offset,
                    needs_confirmation=mark == "confirm",
                    ok_codes=ok_codes,
                )
            )


def _mark(token: Token, mark: str | None) -> str | None:
    if token.type != "html_block":
        return None
    found = _MARK.fullmatch(token.content.strip())
    return found[1] if found else mark


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _text(lines: Sequence[str], first: int, end: int) -> str:
    return "\n".join(line for line in lines[first:end] if not _MARK.fullmatch(line.strip())).strip()
