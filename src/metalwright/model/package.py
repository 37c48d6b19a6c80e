"""Debian packages at exact versions: what a blueprint pins, and which Debian version is that one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from metalwright.model.audit_rules import AUDIT_PACKAGE
from metalwright.model.base import Frozen, Text, VersionText
from metalwright.model.blueprint import Agent, Blueprint, Software

SSH_PORT = 22
_REPACKED = re.compile(r"[~+.](ds|dfsg|repack|debian)[0-9.]*$")
_CONTAINER_RUNTIMES = {
    "containerd": ("containerd", "containerd.service"),
    "docker": ("docker.io", "docker.service"),
}


class AgentPackage(NamedTuple):
    """How an agent is installed: its Debian package, its units, the port that Prometheus reads, and other packages
    that it calls, at any version."""

    package: str
    units: tuple[str, ...]
    port: int | None = None
    calls: tuple[str, ...] = ()


AGENT_PACKAGES: Mapping[Agent, AgentPackage] = MappingProxyType(
    {
        "node_exporter": AgentPackage("prometheus-node-exporter", ("prometheus-node-exporter.service",), 9100),
        "dcgm_exporter": AgentPackage("datacenter-gpu-manager-exporter", ("nvidia-dcgm-exporter.service",), 9400),
        "amd_metrics_exporter": AgentPackage("amdgpu-exporter", ("amd-metrics-exporter.service",), 5000),
        "disk_metrics": AgentPackage(
            "prometheus-node-exporter-collectors", (), calls=("jq", "nvme-cli", "smartmontools")
        ),
        "lldpd": AgentPackage("lldpd", ("lldpd.service",)),
    }
)
"""The packages of GPU makers come from the makers' own sources, the others are Debian's. Timers are no units here: they
stay off where a machine has no disk of their kind."""


class PackagePin(Frozen):
    """A package that must be installed at exactly this version and held there.

    ``version`` is an upstream version (``1.6.20``) or a whole Debian version (``1.6.20~ds1-1+deb12u3``). ``unit`` is
    its systemd unit, if it has one; ``port`` the TCP port on which it serves others.
    """

    name: Text
    version: VersionText
    unit: Text | None = None
    port: int | None = None

    def is_met_by(self, debian_version: str) -> bool:
        """Whether a Debian version is the pinned one."""
        return self.version in (debian_version, *upstream_versions(debian_version))

    @property
    def pattern(self) -> str:
        """The pin as a version pattern of ``apt_preferences``."""
        upstream = re.escape(self.version)
        return rf"/^([0-9]+:)?{upstream}(([~+.](ds|dfsg|repack|debian)[0-9.]*)?-[A-Za-z0-9.+~]+)?$/"

    def best_of(self, candidates: tuple[str, ...]) -> str | None:
        """The first candidate that is the pinned version (``candidates`` newest first), or ``None``."""
        return next((version for version in candidates if self.is_met_by(version)), None)


def served_ports(software: Software) -> tuple[int, ...]:
    """TCP ports on which a node may serve others: SSH and the agents."""
    return tuple(sorted({SSH_PORT, *(pin.port for pin in package_pins(software) if pin.port is not None)}))


def agent_ports(software: Software) -> dict[Agent, int]:
    """Agent → TCP port on which Prometheus reads it, of the agents that the blueprint names."""
    ports = {agent: AGENT_PACKAGES[agent].port for agent in sorted(software.agents)}
    return {agent: port for agent, port in ports.items() if port is not None}


def called_packages(software: Software) -> tuple[str, ...]:
    """Packages that the agents of the blueprint call, at any version."""
    return tuple(sorted({name for agent in software.agents for name in AGENT_PACKAGES[agent].calls}))


def blueprint_pins(blueprint: Blueprint) -> tuple[PackagePin, ...]:
    """The Debian packages of container runtime, agents and audit."""
    audit = blueprint.security.audit
    own = (PackagePin(name=AUDIT_PACKAGE, version=audit.version),) if audit and audit.version else ()
    return (*package_pins(blueprint.software), *own)


def unpinned_packages(blueprint: Blueprint) -> tuple[str, ...]:
    """Packages that the blueprint needs at any version: those that its agents call, and auditd without a version."""
    audit = blueprint.security.audit
    own = {AUDIT_PACKAGE} if audit is not None and audit.version is None else set()
    return tuple(sorted({*called_packages(blueprint.software), *own}))


def upstream_versions(debian_version: str) -> tuple[str, ...]:
    """The upstream version inside a Debian version, as packaged and without the mark of a repacked source.

    >>> upstream_versions("1:1.6.20~ds1-1+deb12u3")
    ('1.6.20~ds1', '1.6.20')
    """
    without_epoch = debian_version.partition(":")[2] or debian_version
    upstream = without_epoch.rpartition("-")[0] or without_epoch
    return tuple(dict.fromkeys((upstream, _REPACKED.sub("", upstream))))


def package_pins(software: Software) -> tuple[PackagePin, ...]:
    """The Debian packages of the container runtime and the agents of a blueprint, in this order."""
    pins = []
    if software.container_runtime is not None:
        name, service = _CONTAINER_RUNTIMES[software.container_runtime.name]
        pins.append(PackagePin(name=name, version=software.container_runtime.version, unit=service))
    for agent, version in sorted(software.agents.items()):
        packaged = AGENT_PACKAGES[agent]
        unit = packaged.units[0] if packaged.units else None
        pins.append(PackagePin(name=packaged.package, version=version, unit=unit, port=packaged.port))
    return tuple(pins)
