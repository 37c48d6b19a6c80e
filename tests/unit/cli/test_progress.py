"""What a run prints when a node stops, and that runbooks and playbook call the stop by the same name."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from metalwright.cli.progress import ProgressLines
from metalwright.lifecycle import Failed
from metalwright.model.phase import Phase

ROOT = Path(__file__).parents[3]


def test_a_stop_is_printed_with_the_code_that_runbooks_call_it_by() -> None:
    printed = io.StringIO()
    failure = Failed("ramdisk-silent", "the deploy ramdisk never reported", hint="look at its console")
    ProgressLines(Console(file=printed, width=200)).node_failed("n1", Phase.IMAGE, failure)
    first, hint = printed.getvalue().splitlines()
    assert first.endswith("image        FAILED (ramdisk-silent): the deploy ramdisk never reported")
    assert hint.endswith("hint: look at its console")


def test_every_code_of_a_runbook_is_in_the_playbook() -> None:
    playbook = (ROOT / "docs/explanation/states.md").read_text(encoding="utf-8")
    named = {
        (path.name, code)
        for path in (ROOT / "runbooks").glob("*.md")
        for code in re.findall(
            r"(?:stops|stopped|says) (?:with )?`([a-z]+(?:-[a-z]+)*)`", path.read_text(encoding="utf-8")
        )
    }
    assert ("rebuild-node.md", "os-answers") in named
    assert {item for item in named if f"`{item[1]}`" not in playbook} == set()
