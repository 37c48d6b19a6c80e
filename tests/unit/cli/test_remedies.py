"""A failed step of a runbook shows what to do for its failure, and offers nothing that is for another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.cli.remedies import offered, ways_out
from metalwright.loading.runbooks import read_runbook

ROOT = Path(__file__).parents[3]
OVERWRITE, WIPE, UNDRAINED = (
    "metalwright rebuild NODE --overwrite NODE",
    "metalwright rebuild NODE --wipe",
    'metalwright rebuild NODE --undrained "the scheduler is down; nothing runs on it"',
)
ALWAYS = {"metalwright rebuild NODE --new-disk SERIAL"}


@pytest.mark.parametrize(
    ("codes", "wanted", "told", "hidden"),
    [
        ({"foreign-disk"}, {OVERWRITE}, "`foreign-disk`", "`customer`"),
        ({"customer"}, {WIPE}, "`customer`", "`foreign-disk`"),
        ({"drain"}, {UNDRAINED}, "`drain`", "`customer`"),
        ({"ramdisk-silent"}, set(), "`ramdisk-silent`", "`drain`"),
        (set(), set(), "`locked`", "nothing is hidden"),
        ({"bios"}, set(), "`locked`", "nothing is hidden"),
    ],
    ids=["foreign", "customer", "drain", "silent", "refused before it began", "a code without a paragraph"],
)
def test_a_rebuild_that_failed_offers_what_is_for_its_code_alone(
    codes: set[str], wanted: set[str], told: str, hidden: str
) -> None:
    step = read_runbook(ROOT, "rebuild-node").steps[1]
    assert {item.text for item in offered(step.if_fails_commands, step.if_fails, codes)} == wanted | ALWAYS
    shown = ways_out(step.if_fails, codes)
    assert told in shown
    assert hidden not in shown


def test_a_paragraph_that_names_no_code_is_for_every_failure() -> None:
    assert ways_out("**If this fails:** look at the `gate`.", {"drain"}) == "**If this fails:** look at the `gate`."
