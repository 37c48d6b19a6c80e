"""A system is asked what waits for a restart, told to restart, and known as restarted by its boot id."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from metalwright.errors import SshError
from metalwright.lifecycle.observations import RestartView
from metalwright.runner import restarting
from metalwright.runner.restarting import Restarting


class System:
    """Answers as a node does; ``reboot`` breaks the connection and begins another boot."""

    def __init__(self, waits: str = "", *, is_silent: bool = False) -> None:
        self.waits, self.is_silent, self.boot, self.ran = waits, is_silent, 1, [""]

    def __enter__(self) -> System:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def run(self, argv: list[str], *, sudo: bool = False) -> Any:
        self.ran.append(f"{'sudo ' if sudo else ''}{' '.join(argv)}")
        if argv[-1] == "reboot":
            self.boot, self.waits = self.boot + 1, ""
            raise SshError("the connection broke")
        return SimpleNamespace(rc=0, stdout=f"{self.boot}\n" if "boot_id" in argv[-1] else self.waits)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(system: System) -> Restarting:
        def connect(*arguments: object, **more: object) -> System:
            if system.is_silent:
                raise SshError("no route to host")
            return system

        monkeypatch.setattr(restarting, "connect", connect)
        monkeypatch.setattr(restarting, "login_key", lambda workspace: None)
        workspace = SimpleNamespace(
            ssh_host_key=lambda node: "ssh-ed25519 AAAA",
            ssh_target=lambda node: SimpleNamespace(user="admin"),
            repository=SimpleNamespace(site=SimpleNamespace(ssh=SimpleNamespace(connect_timeout_s=1.0))),
        )
        found = Restarting(workspace, "n1")  # type: ignore[arg-type]  # what it uses of a workspace
        found.is_applied = True
        return found

    return make


def test_nothing_is_asked_before_the_deploys_ran(on: Any) -> None:
    system = System("the driver\n", is_silent=True)
    node = on(system)
    node.is_applied = False
    assert node.look() == RestartView()


def test_every_reason_is_told_and_a_restart_ends_them(on: Any) -> None:
    system = System("the driver\nkernel arguments\n\n")
    node = on(system)
    assert node.look() == RestartView(("the driver", "kernel arguments"))
    assert node.restart() == {"boot_id": "1", "connection": "the connection broke"}
    assert system.ran[-1] == "sudo systemctl reboot"
    assert node.look() == RestartView((), is_new_boot=True)


def test_a_silent_system_is_unknown_not_content(on: Any) -> None:
    assert on(System(is_silent=True)).look() == RestartView(None, detail="no route to host")
