"""Rules of the kernel's audit by what they watch, written as ``auditctl -l`` lists them (audit 3, Debian 12). Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from metalwright.model.security import AuditSubject

KEY_PREFIX = "metalwright-"
"""Every rule of ours has a key that begins so: ``ausearch -k metalwright-identity``."""

AUDIT_PACKAGE, AUDIT_UNIT = "auditd", "auditd.service"

_PEOPLE = "-F auid>=1000 -F auid!=-1"
"""What a logged-in person does, under whatever user; not what the system does by itself."""


def _watches(*paths: str) -> tuple[str, ...]:
    return tuple(f"-w {path} -p wa" for path in paths)


def _calls(names: str, *conditions: str) -> tuple[str, ...]:
    more = "".join(f" {condition}" for condition in conditions)
    return tuple(f"-a always,exit -F arch={arch} -S {names}{more}" for arch in ("b64", "b32"))


_RULES: Mapping[AuditSubject, tuple[str, ...]] = MappingProxyType(
    {
        "identity": _watches(
            "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/security/opasswd", "/etc/metalwright"
        ),
        "sudo": _watches("/etc/sudoers", "/etc/sudoers.d"),
        "sshd": _watches("/etc/ssh"),
        "modules": (
            *_watches("/etc/modprobe.d", "/etc/modules-load.d"),
            *_calls("delete_module,finit_module,init_module"),
        ),
        "time": (*_watches("/etc/localtime"), *_calls("adjtimex,clock_settime,settimeofday", _PEOPLE)),
        "mounts": _calls("mount,umount2", _PEOPLE),
        "privileged": _calls("execve", "-C uid!=euid", "-F euid=0", _PEOPLE),
    }
)


def audit_rules(subjects: Sequence[AuditSubject]) -> tuple[str, ...]:
    """The rules of these subjects, one a line, each with its key."""
    return tuple(_with_key(rule, subject) for subject in subjects for rule in _RULES[subject])


def our_rules(listed: str) -> tuple[str, ...]:
    """Those with a key of ours, from ``auditctl -l``; it lists system calls by number, here they are by name."""
    ours = (line for line in listed.splitlines() if f"key={KEY_PREFIX}" in line or f"-k {KEY_PREFIX}" in line)
    return tuple(re.sub(r"(?<=-S )\S+", _by_name, line.strip()) for line in ours)


def _by_name(calls: re.Match[str]) -> str:
    return ",".join(sorted(calls[0].split(",")))


def _with_key(rule: str, subject: AuditSubject) -> str:
    key = f"{KEY_PREFIX}{subject}"
    return f"{rule} -k {key}" if rule.startswith("-w") else f"{rule} -F key={key}"
