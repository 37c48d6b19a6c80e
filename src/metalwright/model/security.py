"""The posture of the operating system, as a blueprint says it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from metalwright.model.base import Frozen, VersionText
from metalwright.model.purpose import NetworkPurpose

LAST_PORT = 65535
CLOSED_PURPOSES = ("oob-management", "provisioning")
"""Networks on which a running node serves nobody."""


def _port_range(text: str) -> str:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) < int(last) <= LAST_PORT):
        raise ValueError(f"{text!r} is no range FIRST-LAST of ports from 1 to {LAST_PORT}")
    return text


def _number(value: object) -> object:
    """A port in a file is text, as ranges are, until it is read here."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


PortRange = Annotated[
    Annotated[int, Field(ge=1, le=LAST_PORT, strict=True)] | Annotated[str, AfterValidator(_port_range)],
    BeforeValidator(_number),
]
"""``8000``, or ``30000-32767`` with both ends."""


class OpenPorts(Frozen):
    """What a node serves to others on one of its networks: at its own address there, to everybody who gets that far."""

    network: NetworkPurpose
    tcp: tuple[PortRange, ...] = ()
    udp: tuple[PortRange, ...] = ()

    @model_validator(mode="after")
    def _opens_what_may_be_open(self) -> OpenPorts:
        if self.network in CLOSED_PURPOSES:
            raise ValueError(f"a running node serves nobody on the {self.network} network")
        if not self.tcp and not self.udp:
            raise ValueError(f"open_ports of {self.network} name no port: write tcp or udp")
        return self


AuditSubject = Literal["identity", "sudo", "sshd", "modules", "time", "mounts", "privileged"]
AUDIT_SUBJECTS: tuple[AuditSubject, ...] = ("identity", "sudo", "sshd", "modules", "time", "mounts", "privileged")


class Audit(Frozen):
    """The kernel's audit, kept by auditd. Without ``version`` the package is the one that the node's sources offer.

    ``subjects``: what is watched: files of accounts, sudo's, sshd's; loading of modules, changes of time, mounts,
    and programs that make a person root.
    """

    version: VersionText | None = None
    subjects: tuple[AuditSubject, ...] = Field(default=AUDIT_SUBJECTS, min_length=1)


class Security(Frozen):
    """Posture of the operating system."""

    ssh: Literal["key-only"] = "key-only"
    firewall: Literal["default-deny", "none"] = "default-deny"
    open_ports: tuple[OpenPorts, ...] = ()
    patches: Literal["security-except-pinned", "none"] = "security-except-pinned"
    audit: Audit | None = None
