"""Where a standard stream is closed or cannot say a character, a command still ends as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = f"{sys.executable} -m metalwright.cli --site {ROOT}"


@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault(closed: str) -> None:
    done = subprocess.run(["sh", "-c", f"{COMMAND} runbook list {closed}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fault of metalwright" not in done.stderr


def test_a_terminal_that_knows_only_ascii_gets_the_page_all_the_same() -> None:
    narrow = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} runbook show rebuild-node"], env=narrow, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Rebuild a node" in done.stdout) == (0, True), done.stderr


def test_an_output_that_finds_no_room_is_named() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{COMMAND} schema rack > /dev/full"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output, /dev/full: the operating system refused it")
    assert "hint: make room" in done.stderr


def test_an_interrupt_while_modules_load_shows_no_traceback() -> None:
    """The module that answers the interrupt is not loaded yet: the process ends by the signal."""
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'metalwright.cli.app': os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from metalwright.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
