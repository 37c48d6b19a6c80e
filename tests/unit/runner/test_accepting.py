"""Acceptance of a node that does not answer at that moment."""

from __future__ import annotations

from typing import cast

import pytest

from metalwright.errors import AcceptanceError, SshUnreachableError
from metalwright.lifecycle.observations import OsView
from metalwright.runner import accepting
from metalwright.runner.accepting import Accepting
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.workspace import Workspace


@pytest.mark.parametrize(
    ("view", "error", "hint"),
    [
        (OsView("silent", detail="SSH port open: no banner"), SshUnreachableError, "the same command again"),
        (OsView("ours", detail="the system carries no stamp"), AcceptanceError, "rebuild the node"),
    ],
)
def test_a_system_that_is_silent_for_a_moment_is_not_told_to_be_rebuilt(
    monkeypatch: pytest.MonkeyPatch, view: OsView, error: type[Exception], hint: str
) -> None:
    monkeypatch.setattr(accepting, "look_at_os", lambda workspace, node: view)
    job = Accepting(cast(Workspace, None), "lab-1", "r1", cast(BmcObserver, None))
    with pytest.raises(error) as caught:
        job.accept()
    assert hint in str(caught.value)
    assert str(view.detail) in str(caught.value)
