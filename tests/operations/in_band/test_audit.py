"""Rules of the kernel's audit end in the kernel, or the node says why not; what is not known is no proof."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest
from pyinfra.api.exceptions import FactProcessError
from tests.desired import blueprint
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.acceptance.readings import AUDIT_STATE, audit_state
from metalwright.errors import DeployError
from metalwright.facts.audit import AuditRules
from metalwright.model.audit_rules import audit_rules, our_rules
from metalwright.model.package import blueprint_pins, unpinned_packages
from metalwright.model.security import AUDIT_SUBJECTS
from metalwright.node_files import AUDIT_RULES, audit_data
from metalwright.operations.audit import audited

# captured: `auditctl -l` of audit 3.0.9 (Debian 12) on Linux 6.18, x86-64, after all of our rules were loaded
LISTED = """\
-w /etc/passwd -p wa -k metalwright-identity
-w /etc/shadow -p wa -k metalwright-identity
-w /etc/group -p wa -k metalwright-identity
-w /etc/gshadow -p wa -k metalwright-identity
-w /etc/security/opasswd -p wa -k metalwright-identity
-w /etc/metalwright -p wa -k metalwright-identity
-w /etc/sudoers -p wa -k metalwright-sudo
-w /etc/sudoers.d -p wa -k metalwright-sudo
-w /etc/ssh -p wa -k metalwright-sshd
-w /etc/modprobe.d -p wa -k metalwright-modules
-w /etc/modules-load.d -p wa -k metalwright-modules
-a always,exit -F arch=b64 -S init_module,delete_module,finit_module -F key=metalwright-modules
-a always,exit -F arch=b32 -S init_module,delete_module,finit_module -F key=metalwright-modules
-w /etc/localtime -p wa -k metalwright-time
-a always,exit -F arch=b64 -S adjtimex,settimeofday,clock_settime -F auid>=1000 -F auid!=-1 -F key=metalwright-time
-a always,exit -F arch=b32 -S settimeofday,adjtimex,clock_settime -F auid>=1000 -F auid!=-1 -F key=metalwright-time
-a always,exit -F arch=b64 -S mount,umount2 -F auid>=1000 -F auid!=-1 -F key=metalwright-mounts
-a always,exit -F arch=b32 -S mount,umount2 -F auid>=1000 -F auid!=-1 -F key=metalwright-mounts
-a always,exit -F arch=b64 -S execve -C uid!=euid -F euid=0 -F auid>=1000 -F auid!=-1 -F key=metalwright-privileged
-a always,exit -F arch=b32 -S execve -C uid!=euid -F euid=0 -F auid>=1000 -F auid!=-1 -F key=metalwright-privileged
"""
RULES = audit_rules(AUDIT_SUBJECTS)
OTHERS = "-w /var/log/lastlog -p wa -k logins\n"
REFUSED = "Error sending rule list data request (Operation not permitted)"


def state(**changes: Any) -> dict[str, Any]:
    return {"AuditRules": {"rules": RULES, "is_enabled": True, "refusal": None, **changes}}


def test_the_rules_are_written_as_the_kernel_lists_them() -> None:
    """Also where it puts the system calls into another order."""
    assert our_rules(OTHERS + LISTED) == RULES
    assert len(set(RULES)) == len(RULES) == 20
    assert our_rules("No rules\n") == ()


def test_rules_in_force_are_left_alone_and_those_of_others_do_not_count() -> None:
    text = "".join(f"audit-rule:{line}\n" for line in (OTHERS + LISTED).splitlines())
    told = AuditRules().process([*text.splitlines(), "audit-enabled:1", "audit-end"])
    assert commands_of(audited, {"AuditRules": told}, rules=RULES, path=AUDIT_RULES) == ([], ["the rules are loaded"])


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"rules": RULES[1:]}, "missing: -w /etc/passwd -p wa -k metalwright-identity"),
        ({"is_enabled": False}, "audit is off"),
        ({"rules": (), "is_enabled": False, "refusal": REFUSED}, REFUSED),
    ],
)
def test_rules_that_are_not_in_the_kernel_are_loaded_and_read_back(found: dict[str, Any], told: str) -> None:
    commands, _ = commands_of(audited, state(**found), rules=RULES, path=AUDIT_RULES)
    assert commands[0] == "augenrules --load || true"
    run_function(commands[-1], state())
    with pytest.raises(DeployError, match="the kernel does not audit what the blueprint says") as caught:
        run_function(commands[-1], state(**found))
    assert told in str(caught.value.found)


def test_a_subject_that_the_blueprint_dropped_is_no_longer_watched() -> None:
    fewer = audit_rules(("identity",))
    assert commands_of(audited, state(), rules=fewer, path=AUDIT_RULES)[0][0] == "augenrules --load || true"
    gone: dict[str, Any] = {"FileStates": {AUDIT_RULES: {}}}
    assert commands_of(audited, gone, rules=None, path=AUDIT_RULES)[0] == [
        f"rm {AUDIT_RULES}",
        "! command -v augenrules > /dev/null || augenrules --load",
    ]
    nothing = commands_of(audited, {"FileStates": {}}, rules=None, path=AUDIT_RULES)
    assert nothing == ([], ["the blueprint asks for no audit"])


def test_auditd_comes_at_the_declared_version_or_at_that_of_the_sources() -> None:
    pinned = blueprint(security={"audit": {"version": "3.0.9", "subjects": ["time"]}})
    assert [pin.version for pin in blueprint_pins(pinned) if pin.name == "auditd"] == ["3.0.9"]
    assert "auditd" not in unpinned_packages(pinned)
    assert audit_data(pinned) == list(audit_rules(("time",)))
    assert unpinned_packages(blueprint(security={"audit": {}})) == ("auditd",)
    assert (audit_data(blueprint()), unpinned_packages(blueprint())) == (None, ())


def test_silence_is_no_answer() -> None:
    with pytest.raises(FactProcessError):
        AuditRules().process(["sh: 1: not found"])


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("auditctl") is None, reason="needs root and auditctl")
def test_a_container_is_refused_by_the_kernel_and_says_so() -> None:
    """The real auditctl, in a process namespace of its own: nothing is known, so nothing can pass."""
    done = subprocess.run(
        ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", AUDIT_STATE],
        capture_output=True,
        text=True,
        check=True,
    )
    seen = audit_state(done.stdout)
    assert seen is not None
    assert (seen.rules, seen.is_enabled, seen.refusal) == ((), False, REFUSED)
