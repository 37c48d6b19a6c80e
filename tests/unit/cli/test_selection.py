"""Which nodes a command is about, and whose content it may destroy."""

from __future__ import annotations

import pytest

from metalwright.cli.selection import overwritten
from metalwright.errors import UsageError


def test_only_nodes_of_the_command_can_be_overwritten() -> None:
    assert overwritten(None, ["lab-1"]) == frozenset()
    assert overwritten(["lab-1"], ["lab-1", "lab-2"]) == {"lab-1"}
    with pytest.raises(UsageError) as caught:
        overwritten(["lab-11"], ["lab-1", "lab-2"])
    assert caught.value.where == "lab-11"
