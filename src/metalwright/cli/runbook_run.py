"""Following a runbook: one step after the other, confirmed where it is dangerous, journalled, and taken up again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import typer
from rich.markdown import Markdown

from metalwright.cli.context import CliContext
from metalwright.cli.remedies import offered, ways_out
from metalwright.cli.runbook_commands import answered, arguments, program
from metalwright.errors import UsageError
from metalwright.journal.journal import Journal
from metalwright.model.runbook import Runbook, RunbookCommand, RunbookStep

KIND = "runbook"
_STEP_DONE = "runbook step done"
_STEP_FAILED = "runbook step failed"


@dataclass(frozen=True)
class RunbookRun:
    """One person following one runbook for one node. ``values`` replace the placeholders; ``yes`` asks nothing.

    ``instead`` maps the number of a step to the command of its *if it fails* part that is run in place of its own.
    """

    cli: CliContext
    journal: Journal
    runbook: Runbook
    node: str
    values: Mapping[str, str]
    yes: bool
    instead: Mapping[int, RunbookCommand] = field(default_factory=dict)

    def follow(self) -> int:
        """Do the steps that are not done yet; returns 0, or the exit code of the command that failed."""
        run = self._unfinished() or self.journal.runs.start(KIND, [self.runbook.name, self.node]).id
        done = self._steps_done(run)
        if done:
            self._say(f"run {run}: taken up again after step {max(done)} of {len(self.runbook.steps)}")
        for number, step in enumerate(self.runbook.steps, 1):
            if number in done:
                continue
            code = self._do(run, number, step)
            if code != 0:
                return code
        self.journal.runs.finish(run, "ok")
        self._say(f"runbook {self.runbook.name}: all {len(self.runbook.steps)} steps are done")
        return 0

    def _do(self, run: str, number: int, step: RunbookStep) -> int:
        self._say(f"\nstep {number} of {len(self.runbook.steps)}: {step.title}")
        self.cli.err.print(Markdown(_without_commands(step.prose)))
        if step.kind == "by-hand":
            self._ask("done", f"type done when this is done ({step.title})")
        chosen = self.instead.get(number)
        for command in (chosen,) if chosen is not None else step.commands:
            begun = datetime.now(UTC)
            code = self._execute(command)
            if code not in command.ok_codes and not self._is_remedied(step, command, code, begun):
                why = f"{command.text}: exit code {code}"
                self._note(_STEP_FAILED, run, number, why)
                self._tell_failure(number, step, why, begun)
                return code
        self._note(_STEP_DONE, run, number, step.title)
        return 0

    def _execute(self, command: RunbookCommand) -> int:
        words = arguments(command, self.values)
        words = answered(words) if self.yes else words
        argv = program(words, self.cli.site)
        if command.needs_confirmation:
            self._ask(self.node, f"`{' '.join(words)}`: type {self.node} to run it")
        self._say(f"$ {' '.join(words)}")
        return subprocess.run(argv, cwd=self.cli.site if words[0] != "metalwright" else None, check=False).returncode

    def _is_remedied(self, step: RunbookStep, failed: RunbookCommand, code: int, begun: datetime) -> bool:
        """Offer what the step says for its failure, where somebody is there; whether one of that did it in the end."""
        codes = self._codes_since(begun)
        choices = [item for item in offered(step.if_fails_commands, step.if_fails, codes) if item != failed]
        if self.yes or not choices or not sys.stdin.isatty():
            return False
        self._say(f"\n{failed.text}: exit code {code}")
        self.cli.err.print(Markdown(ways_out(step.if_fails, codes)))
        for number, item in enumerate(choices, 1):
            self._say(f"  {number}  {item.text}")
        answer = typer.prompt("type the number of what applies, or stop", err=True).strip()
        if not answer.isdecimal() or not 1 <= int(answer) <= len(choices):
            return False
        chosen = choices[int(answer) - 1]
        return self._execute(chosen) in chosen.ok_codes

    def _codes_since(self, begun: datetime) -> set[str]:
        """The codes with which phases of the node failed since then; none where it was refused before a phase."""
        phases = self.journal.runs.phases_of(node=self.node)
        failed = [phase for phase in phases if phase.result == "failed" and phase.started >= begun]
        return {str((phase.evidence or {}).get("code")) for phase in failed}

    def _tell_failure(self, number: int, step: RunbookStep, why: str, begun: datetime) -> None:
        self._say(f"\nstep {number} failed: {why}")
        if step.if_fails:
            self.cli.err.print(Markdown(ways_out(step.if_fails, self._codes_since(begun))))
        self._say(f"when it is settled, go on with: metalwright runbook run {self.runbook.name} {self.node}")

    def _ask(self, wanted: str, prompt: str) -> None:
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise UsageError(
                "a step needs an answer, and nobody is there to ask",
                where=self.runbook.name,
                expected=prompt,
                hint="run it in a terminal, or with --yes",
            )
        answer = typer.prompt(prompt, err=True)
        if answer.strip() != wanted:
            raise UsageError("not confirmed; the runbook stops here", expected=wanted, found=answer)

    def _unfinished(self) -> str | None:
        """The newest run of this runbook and node that was interrupted, in the same text."""
        for run in reversed(self.journal.runs.unfinished()):
            if run.kind == KIND and tuple(run.arguments) == (self.runbook.name, self.node):
                same = all(
                    (event.detail or {}).get("digest") == self.runbook.digest
                    for event in self.journal.events.of(run=run.id)
                )
                if same:
                    return run.id
                self.journal.runs.finish(run.id, "cancelled", "the runbook changed")
        return None

    def _steps_done(self, run: str) -> set[int]:
        events = self.journal.events.of(run=run)
        return {int((event.detail or {})["step"]) for event in events if event.what == _STEP_DONE}

    def _note(self, what: str, run: str, number: int, why: str) -> None:
        detail = {"runbook": self.runbook.name, "step": number, "digest": self.runbook.digest}
        self.journal.events.note(what, node=self.node, run=run, why=why, detail=detail)

    def _say(self, text: str) -> None:
        self.cli.err.print(text, markup=False)


def chosen_remedies(runbook: Runbook, texts: Sequence[str]) -> dict[int, RunbookCommand]:
    """Texts of commands → the step that each of them stands in for.

    Raises:
        UsageError: no step has just this in its *if it fails* part; all that could be named are listed.
    """
    known = {
        item.text: (number, item) for number, step in enumerate(runbook.steps, 1) for item in step.if_fails_commands
    }
    for text in texts:
        if text not in known:
            told = "\n".join(known) or "none"
            raise UsageError("no step of the runbook names this command for its failure", where=text, expected=told)
    return dict(known[text] for text in texts)


def parse_values(node: str, settings: list[str]) -> dict[str, str]:
    """``NAME=VALUE`` texts and the node itself → values of placeholders."""
    values = {"NODE": node}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.isupper():
            raise UsageError("this sets nothing", where=text, expected="--set NAME=VALUE with a NAME in capitals")
        values[name] = value
    return values


def _without_commands(prose: str) -> str:
    """The prose alone: each command is shown when it is run."""
    kept, inside = [], False
    for line in prose.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            kept.append(line)
    return "\n".join(kept)
