"""Who can log in, and how."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import sshd_settings


def test_user(host: Host, check: dict[str, Any]) -> None:
    """The person's keys, exactly, and sudo that works without a password."""
    user = host.user(check["name"])
    assert user.exists, f"no user {check['name']}"
    keys = host.file(f"{user.home}/.ssh/authorized_keys")
    assert keys.exists, f"{check['name']} has no authorized_keys"
    found = {line.strip() for line in keys.content_string.splitlines() if line.strip() and not line.startswith("#")}
    assert found == set(check["authorized_keys"])
    assert host.run("sudo --non-interactive --list --other-user=%s true", check["name"]).rc == 0, "may not use sudo"


def test_sshd(host: Host, check: dict[str, Any]) -> None:
    """What sshd itself says it uses, all drop-ins read."""
    assert sshd_settings(host.check_output("sshd -T")).get(check["id"]) == check["value"]
