"""Every command in the documentation is run, or says why it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.docs.console_blocks import (
    PAGES,
    ROOT,
    SHELL_LANGUAGES,
    Block,
    Session,
    plain_environment,
    read_blocks,
    run_blocks,
)

from metalwright.simulator.lab import Lab

PAGE_TIMEOUT_S = 600
LAB_TIMEOUT_S = 1200
MOST_LEFT_OUT = 24
"""Most need a BMC or an accepted node, three a node that lost its disk; the reason of each stands above it."""


def blocks_of(page: Path, *places: str) -> list[Block]:
    return [block for block in read_blocks(page) if block.language == "console" and block.where in places]


def pages_with(*places: str) -> list[Path]:
    return [page for page in PAGES if blocks_of(page, *places)]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_commands_stand_in_console_fences_with_a_known_mark(page: Path) -> None:
    for block in read_blocks(page):
        place = f"{_name(page)}:{block.line}"
        assert block.language not in SHELL_LANGUAGES, f"{place}: use a console fence, so that the commands are run"
        assert block.where in ("site", "clone", "lab", "not run"), f"{place}: unknown mark {block.where!r}"
        assert block.where != "not run" or len(block.reason) > 10, f"{place}: say why it cannot run"


@pytest.mark.timeout(PAGE_TIMEOUT_S)
@pytest.mark.parametrize("page", pages_with("site"), ids=_name)
def test_commands_of_a_site_do_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    try:
        run_blocks(blocks_of(page, "site"), Session(directory, tmp_path, plain_environment(tmp_path)))
    finally:
        for lab in directory.glob("*/.metalwright/lab"):
            Lab(lab).down(wipe=True)


@pytest.mark.parametrize("page", pages_with("clone"), ids=_name)
def test_commands_of_the_clone_do_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    run_blocks(blocks_of(page, "clone"), Session(ROOT, tmp_path, plain_environment(tmp_path)))


@pytest.mark.lab
@pytest.mark.long
@pytest.mark.timeout(LAB_TIMEOUT_S)
@pytest.mark.parametrize("page", pages_with("lab"), ids=_name)
def test_commands_of_the_lab_do_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    run_blocks(blocks_of(page, "lab"), Session(ROOT, tmp_path, plain_environment(tmp_path)), LAB_TIMEOUT_S)


def test_what_is_not_run_is_counted_and_explained(record_property: Callable[[str, object], None]) -> None:
    left_out = [block for page in PAGES for block in blocks_of(page, "not run")]
    record_property("note", f"{len(left_out)} command block(s) of the documentation are not run:")
    for block in left_out:
        record_property("note", f"  {_name(block.page)}:{block.line}: {block.reason}")
    assert len(left_out) <= MOST_LEFT_OUT, "run them, or say here why so many cannot be"
