"""What is seen of a system over SSH: a real server on loopback, in whose place the tools of this test answer."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.loopback_ssh import LoopbackServer, ssh_server

from metalwright.model.image import Stamp
from metalwright.runner import observe_os
from metalwright.ssh import connect

__all__ = ["ssh_server"]
SYSTEMCTL = """#!/bin/sh
if [ "$1" = is-system-running ]; then cat {state}; [ "$(cat {state})" = running ]; exit; fi
echo " 12 first-boot.service      start running"
echo "  2 multi-user.target       start waiting"
"""


@pytest.mark.parametrize(
    ("state", "starting"),
    [("starting", "first-boot.service"), ("running", ""), ("degraded", ""), ("offline", ""), (None, "")],
)
def test_im_15_a_system_is_up_when_systemd_has_finished_its_start(
    ssh_server: LoopbackServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: str | None,
    starting: str,
) -> None:
    """Goes on when systemd has finished the start, whatever ran in it; names what still runs at the deadline."""
    programs = tmp_path / "programs"
    programs.mkdir()
    told = SYSTEMCTL.format(state=tmp_path / "state") if state else "#!/bin/sh\nexit 127\n"
    (programs / "systemctl").write_text(told)
    (programs / "systemctl").chmod(0o755)
    (tmp_path / "state").write_text(state or "")
    stamp = Stamp(node="n1", run="r", recipe="sha256:r", image="sha256:i", journal="j", written=datetime.now(UTC))
    (tmp_path / "stamp.json").write_text(stamp.model_dump_json())
    monkeypatch.setattr(observe_os, "STAMP_PATH", str(tmp_path / "stamp.json"))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    key = ssh_server.client_key_path
    with connect(ssh_server.target, host_key=ssh_server.public_host_key, key=key, timeout_s=10) as session:
        view = observe_os._view(session)
    assert (view.kind, view.stamp, view.starting) == ("ours", stamp, starting)
