"""Why a boot server that was started does not answer: it ended, or the machine is too busy to start it in time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metalwright.errors import ImageError
from metalwright.runner import boot_server


@pytest.mark.parametrize(
    ("exit_code", "found", "hint"),
    [
        (1, "error: port 8443: in use", "another program on its ports"),
        (None, "it runs and gives no answer within 0.2 s", "very busy"),
    ],
)
def test_a_slow_start_is_not_told_as_a_taken_port(
    exit_code: int | None, found: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_text("error: port 8443: in use\n")
    monkeypatch.setattr(boot_server, "START_S", 0.2)
    monkeypatch.setattr(boot_server, "is_serving", lambda workspace: False)
    settings = SimpleNamespace(listen="127.0.0.1", https_port=8443)
    workspace: Any = SimpleNamespace(repository=SimpleNamespace(site=SimpleNamespace(boot_server=settings)))
    child: Any = SimpleNamespace(exit_code=exit_code, log=tmp_path / "log")
    with pytest.raises(ImageError) as caught:
        boot_server._await_start(workspace, child)
    assert caught.value.found == found
    assert hint in str(caught.value.hint)
