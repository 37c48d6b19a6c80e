"""Who can log in, and how."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

KEYS = "/etc/ssh/authorized_keys.d/%s"


def test_user(host: Host, check: dict[str, Any]) -> None:
    """An account with the person's keys, exactly, and sudo that works without a password."""
    name = check["name"]
    assert host.run("getent passwd %s", name).rc == 0, f"no user {name}"
    keys = host.run(f"cat {KEYS}", name)
    assert keys.rc == 0, f"{name} has no keys in {KEYS % name}"
    assert [line for line in keys.stdout.splitlines() if line] == check["authorized_keys"]
    assert "NOPASSWD: ALL" in host.check_output("sudo --non-interactive --list --other-user %s", name), "no sudo"


def test_sshd(check: dict[str, Any], sshd: dict[str, str]) -> None:
    assert sshd.get(check["id"]) == check["value"]
