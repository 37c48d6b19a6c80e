"""The package gives what it names, and a lock costs no database."""

from __future__ import annotations

import subprocess
import sys

import pytest

from metalwright import journal


@pytest.mark.parametrize("name", journal.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(journal, name) is not None


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError):
        _ = journal.Nothing


def test_a_lock_loads_no_database() -> None:
    code = "import sys; from metalwright.journal import NodeLock, kill_point; print('sqlalchemy' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert output.stdout.strip() == "False"
