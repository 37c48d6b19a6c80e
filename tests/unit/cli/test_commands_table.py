"""The overview of commands is true, and a command loads only what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metalwright.cli.app import run
from metalwright.cli.commands import COMMANDS, load_commands

HEAVY = ("aiohttp", "sqlalchemy", "pyinfra", "paramiko", "redfish", "git", "pytest")


def loaded_by(*arguments: str) -> set[str]:
    """The top-level modules that a command line loads, in a process of its own."""
    program = (
        "import sys\n"
        "from metalwright.cli.app import run\n"
        f"code = run({list(arguments)!r})\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("module", sorted({entry.module for entry in COMMANDS.values()}))
def test_a_module_brings_just_the_commands_that_the_table_says(module: str) -> None:
    listed = {name for name, entry in COMMANDS.items() if entry.module == module}
    assert set(load_commands(module)) == listed


@pytest.mark.parametrize("arguments", [["--help"], ["status", "--help"], ["journal", "--help"], ["check", "--help"]])
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    assert not loaded_by(*arguments) & set(HEAVY)


def test_a_review_loads_no_table_printer_no_certificates_and_no_network() -> None:
    loaded = loaded_by("review", "--help")
    assert "git" in loaded
    assert not loaded & {"rich", "cryptography", "ssl", *HEAVY} - {"git"}


def test_the_overview_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for name, entry in COMMANDS.items():
        assert any(line.split()[:1] == [name] for line in out.splitlines()), name
        assert entry.summary.split()[0] in out


def test_a_mistyped_command_is_answered_with_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats"]) == 64
    assert "status" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["rebuild"], "NODE..."),
        (["drift"], "[NODE...]"),
        (["power"], "NODE [ACTION]"),
        (["blueprint", "bump"], "NAME@VERSION"),
        (["discover"], "[PREFIX|FILE|HOST...]"),
    ],
)
def test_usage_lines_read_as_in_a_manual(command: list[str], usage: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.partition(f" {command[0]} ")[2] == " ".join([*command[1:], "[OPTIONS]", usage])
