"""Who can log in, and how."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import AUDIT_STATE, audit_state, sudo_fault
from metalwright.node_files import KEYS_DIRECTORY, PRINCIPALS_DIRECTORY

KEYS = f"{KEYS_DIRECTORY}/%s"
PRINCIPALS = f"{PRINCIPALS_DIRECTORY}/%s"


def test_user(host: Host, check: dict[str, Any]) -> None:
    """An account with the person's keys and principals, exactly, and sudo for what is declared and nothing else."""
    name = check["name"]
    assert host.run("getent passwd %s", name).rc == 0, f"no user {name}"
    if check["authorized_keys"]:
        keys = host.run(f"cat {KEYS}", name)
        assert keys.rc == 0, f"{name} has no keys in {KEYS % name}"
        assert [line for line in keys.stdout.splitlines() if line] == check["authorized_keys"]
    if check["principals"]:
        principals = host.check_output(f"cat {PRINCIPALS}", name).split()
        assert principals == check["principals"], f"certificates for {principals} open the account"
    listed = host.check_output("sudo --non-interactive --list --other-user %s", name)
    wrong = sudo_fault(listed, check["sudo"])
    assert wrong is None, wrong


def test_logins(host: Host, check: dict[str, Any]) -> None:
    """Nobody else has keys, or principals of certificates."""
    for directory, allowed in ((KEYS, check["keys"]), (PRINCIPALS, check["principals"])):
        told = host.check_output("ls -1 %s 2>/dev/null; echo listed", directory.removesuffix("/%s")).splitlines()
        assert told[-1:] == ["listed"], told
        assert set(told[:-1]) <= set(allowed), f"{sorted(set(told[:-1]) - set(allowed))} have a file in {directory}"


def test_audit_rules(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """The kernel has every rule and heeds them. A system that may not ask the kernel is no proof."""
    told = host.run(AUDIT_STATE)
    state = audit_state(told.stdout)
    if told.rc != 0 or state is None or state.refusal is not None:
        unknown(f"the kernel's audit cannot be asked: {state.refusal if state else told.stderr.strip()[:200]}")
        return
    missing = [rule for rule in check["rules"] if rule not in state.rules]
    assert not missing, f"{len(missing)} of {len(check['rules'])} rules are not loaded: {'; '.join(missing[:3])}"
    assert state.is_enabled, "the rules are loaded, the kernel's audit is off"


def test_sshd(check: dict[str, Any], sshd: dict[str, str]) -> None:
    assert sshd.get(check["id"]) == check["value"]
