"""Which files the software phase puts on a node, from which template of the site, with which values. Pure.

One table for those who write them (``deploys``) and those who tell beforehand what changes (``reviewing``).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metalwright.accelerators.packages import AMD_CDI, NVIDIA_CDI, POLICY_UNIT, accelerator_data
from metalwright.model.audit_rules import audit_rules
from metalwright.model.blueprint import Blueprint, Software
from metalwright.model.package import (
    AGENT_PACKAGES,
    PackagePin,
    agent_ports,
    blueprint_pins,
    served_ports,
    unpinned_packages,
)
from metalwright.model.rack import Node
from metalwright.model.repository import SiteRepository
from metalwright.model.site import Site
from metalwright.topology import node_labels
from metalwright.zones import NO_ZONES, zones

KEYRING = "/etc/apt/keyrings/metalwright.asc"
"""Where a node keeps the public key of the package mirror."""

KEYS_DIRECTORY = "/etc/ssh/authorized_keys.d"
PRINCIPALS_DIRECTORY = "/etc/ssh/authorized_principals.d"
AUTHORITIES = "/etc/ssh/metalwright-authorities.pub"
REVOKED_KEYS = "/etc/ssh/metalwright-revoked-keys.pub"
REVOKED_LIST = "/etc/ssh/metalwright-revoked.krl"
"""What ssh-keygen made of all that is revoked, where single certificates are."""

MADE_ACCOUNTS = "/var/lib/metalwright/accounts"
"""Name and user id of each account that metalwright made on the node."""

FIREWALL_RULES = "/etc/nftables.conf"
AUDIT_RULES = "/etc/audit/rules.d/50-metalwright.rules"
SYSCTL_SETTINGS = "/etc/sysctl.d/90-metalwright.conf"
GOVERNOR_UNIT = "metalwright-cpu-governor.service"
LOCK_TIMEOUT_S = 300
"""How long apt waits for another package manager."""

DCGM_COUNTERS = "/etc/dcgm-exporter/metalwright-counters.csv"
DISK_TIMERS = ("prometheus-node-exporter-nvme.timer", "prometheus-node-exporter-smartmon.timer")
WATCHED_UNITS = (
    "amd-metrics-exporter.service",
    "chrony.service",
    "containerd.service",
    "docker.service",
    "gpuagent.service",
    "lldpd.service",
    "nftables.service",
    "nvidia-dcgm-exporter.service",
    "nvidia-dcgm.service",
    "nvidia-fabricmanager.service",
    "nvidia-persistenced.service",
    "ssh.service",
)
"""Services whose state node_exporter tells: those that alerts speak of."""

Data = Mapping[str, Any]

NO_TRUST: Data = {"certificate_authorities": [], "revoked_keys": [], "revoked_certificates": {}}
"""No certificate of a person opens an account."""

NOBODY: Data = {"ports": [], "ip": [], "ip6": []}
"""No port is open to scrapers alone."""


@dataclass(frozen=True)
class NodeFile:
    """A file at ``path``: ``templates/node/<template>`` rendered with ``values``. Mode in octal; owner is root.

    ``check``: a command that is given the new text in a file beside the old one; it takes its place only when that
    succeeds.
    """

    template: str
    path: str
    values: Data = field(default_factory=dict)
    mode: str = "644"
    check: str = ""


def node_data(repository: SiteRepository, node: Node) -> dict[str, Any]:
    """What site and blueprint say about the operating system of a node, as plain JSON."""
    site, blueprint = repository.site, repository.blueprint_of(node.name)
    return {
        "node": node.name,
        "fqdn": f"{node.name}.{site.domain}",
        "blueprint": node.blueprint,
        "ntp_servers": list(site.ntp),
        "admins": [admin.to_json() for admin in site.admins],
        "ssh_trust": ssh_trust(site),
        "package_pins": [pin.to_json() for pin in blueprint_pins(blueprint)],
        "agents": dict(sorted(blueprint.software.agents.items())),
        "called_packages": list(unpinned_packages(blueprint)),
        "labels": node_labels(repository, node),
        "accelerator": accelerator_data(blueprint),
        "firewall": blueprint.security.firewall,
        "zones": zones(repository, node.name),
        "audit_rules": audit_data(blueprint),
        **runtime_data(blueprint.software),
        "patches": blueprint.security.patches,
        "kernel_args": list(blueprint.software.kernel_args),
        "sysctl": blueprint.software.kernel_settings,
        "cpu_governor": blueprint.software.cpu_governor,
        **open_ports(site, blueprint),
        **({"apt_sources": list(site.apt.sources)} if site.apt.sources else {}),
    }


def open_ports(site: Site, blueprint: Blueprint) -> dict[str, Any]:
    """``open_tcp_ports`` for every address; ``scraped``: ``ports`` for the scrapers alone, by family of address."""
    scrapers = site.monitoring.scrapers
    ports = set(agent_ports(blueprint.software).values()) if scrapers else set()
    return {
        "open_tcp_ports": [port for port in served_ports(blueprint.software) if port not in ports],
        "scraped": {
            "ports": sorted(ports),
            "ip": [item for item in scrapers if ":" not in item],
            "ip6": [item for item in scrapers if ":" in item],
        },
    }


def node_files(data: Data) -> Iterator[NodeFile]:
    """All of them; ``data`` as :func:`node_data` has it."""
    yield from apt_files(data["package_pins"], data.get("apt_sources", ()))
    yield from patch_files(data["patches"], all_pins(data["package_pins"], data.get("accelerator")))
    yield from kernel_files(data["sysctl"], data["cpu_governor"])
    yield KEPT_KERNEL
    yield from accelerator_files(data.get("accelerator"))
    yield from runtime_files(data["container_runtime"], data["gpu_runtime"])
    yield from time_files(data["ntp_servers"])
    yield from login_files(data["admins"])
    yield from sshd_files(data.get("ssh_trust", NO_TRUST))
    yield from monitoring_files(data.get("agents", {}))
    yield from label_files(data.get("labels", {}))
    yield from audit_files(data.get("audit_rules"))
    yield from firewall_files(
        data["firewall"], data["open_tcp_ports"], data.get("scraped", NOBODY), data.get("zones", NO_ZONES)
    )


def apt_files(package_pins: Sequence[Data], apt_sources: Sequence[str]) -> Iterator[NodeFile]:
    """apt's settings, pins, and sources; without ``apt_sources`` the image's own stay."""
    yield NodeFile("apt.conf.j2", "/etc/apt/apt.conf.d/50metalwright", {"lock_timeout_s": LOCK_TIMEOUT_S})
    pins = [{"name": pin["name"], "pattern": PackagePin.model_validate(pin).pattern} for pin in package_pins]
    yield NodeFile("apt.preferences.j2", "/etc/apt/preferences.d/metalwright", {"package_pins": pins})
    if apt_sources:
        yield NodeFile("sources.list.j2", "/etc/apt/sources.list", {"apt_sources": apt_sources})


def all_pins(package_pins: Sequence[Data], accelerator: Data | None) -> list[Data]:
    """Pins of the blueprint's own packages and of its accelerator's."""
    return [*package_pins, *(accelerator["pins"] if accelerator is not None else ())]


def patch_files(patches: str, package_pins: Sequence[Data]) -> Iterator[NodeFile]:
    """unattended-upgrades: security patches of everything but what is pinned and the kernel, or none at all."""
    values = {"patches": patches, "pinned": [pin["name"] for pin in package_pins]}
    yield NodeFile("unattended-upgrades.conf.j2", "/etc/apt/apt.conf.d/90metalwright-patches", values)


def kernel_files(sysctl: Data, cpu_governor: str | None) -> Iterator[NodeFile]:
    """Kernel settings, and the unit that sets the governor where the blueprint names one."""
    yield NodeFile("sysctl.conf.j2", SYSCTL_SETTINGS, {"sysctl": sysctl})
    if cpu_governor:
        yield NodeFile("cpu-governor.service.j2", f"/etc/systemd/system/{GOVERNOR_UNIT}", {"governor": cpu_governor})


def runtime_data(software: Software) -> dict[str, Any]:
    """``container_runtime`` of the blueprint; ``gpu_runtime``: ``nvidia`` or ``amd`` where its toolkit is installed."""
    runtime, gpus = software.container_runtime, software.accelerator
    return {
        "container_runtime": runtime.to_json() if runtime is not None else None,
        "gpu_runtime": gpus.vendor if gpus is not None and gpus.container_toolkit is not None else None,
    }


def runtime_files(runtime: Data | None, gpu_runtime: str | None) -> Iterator[NodeFile]:
    """containerd's configuration and its mirrors, or Docker's; nothing without a container runtime."""
    if runtime is None:
        return
    numbers = [int(part) for part in re.findall(r"[0-9]+", runtime["version"])[:2]]
    if runtime["name"] == "docker":
        values = {"mirrors": runtime["mirrors"], "gpu_runtime": gpu_runtime, "has_cdi": numbers >= [25]}
        yield NodeFile("docker-daemon.json.j2", "/etc/docker/daemon.json", values)
        return
    values = {"major": numbers[0], "gpu_runtime": gpu_runtime, "has_cdi": numbers >= [1, 7]}
    yield NodeFile("containerd.toml.j2", "/etc/containerd/config.toml", values)
    for registry, mirrors in sorted(runtime["mirrors"].items()):
        path = f"/etc/containerd/certs.d/{registry}/hosts.toml"
        yield NodeFile("hosts.toml.j2", path, {"registry": registry, "mirrors": mirrors})


KEPT_KERNEL = NodeFile("kernel.preferences.j2", "/etc/apt/preferences.d/metalwright-kernel")
"""Which kernel apt may install; the node fills in the release that runs."""


ACCELERATOR_FILES = (
    "/etc/modprobe.d/metalwright-accelerator.conf",
    "/etc/modules-load.d/metalwright-accelerator.conf",
    "/etc/apt/preferences.d/metalwright-accelerator",
    "/etc/udev/rules.d/70-metalwright-amdgpu.rules",
    "/usr/local/bin/rocm-smi",
    f"/etc/systemd/system/{POLICY_UNIT}",
    NVIDIA_CDI,
    AMD_CDI,
)
"""All that GPUs of any maker bring to a node, the specifications that the policy unit writes included."""


def surplus_accelerator_files(setup: Data | None) -> list[str]:
    """Those that the setup does not bring: another maker's, or all of them."""
    wanted = {item.path for item in accelerator_files(setup)} | ({setup["cdi"]} if setup is not None else set())
    return [path for path in ACCELERATOR_FILES if path not in wanted]


def accelerator_files(setup: Data | None) -> Iterator[NodeFile]:
    """Which module may drive the GPUs, what is loaded at boot, the versions of the stack, the policy of every boot."""
    if setup is None:
        return
    if setup["rivals"]:
        path = "/etc/modprobe.d/metalwright-accelerator.conf"
        yield NodeFile("accelerator.modprobe.j2", path, {"rivals": setup["rivals"]})
    yield NodeFile(
        "accelerator.modules.j2", "/etc/modules-load.d/metalwright-accelerator.conf", {"load": setup["load"]}
    )
    pins = [{"name": pin["name"], "pattern": PackagePin.model_validate(pin).pattern} for pin in setup["pins"]]
    family = "*nvidia* libcuda1 libnvcuvid1" if setup["vendor"] == "nvidia" else "amdgpu-dkms-firmware"
    values = {"pins": pins, "family": family, "version": setup["version"]}
    yield NodeFile("accelerator.preferences.j2", "/etc/apt/preferences.d/metalwright-accelerator", values)
    if setup["vendor"] == "amd":
        yield NodeFile("amdgpu.rules.j2", "/etc/udev/rules.d/70-metalwright-amdgpu.rules")
        yield NodeFile("rocm-smi.j2", "/usr/local/bin/rocm-smi", mode="755")
    if setup["commands"]:
        yield NodeFile("gpu.service.j2", f"/etc/systemd/system/{POLICY_UNIT}", {"commands": setup["commands"]})


def time_files(ntp_servers: Sequence[str]) -> Iterator[NodeFile]:
    """chrony as a client of these servers."""
    yield NodeFile("chrony.conf.j2", "/etc/chrony/chrony.conf", {"ntp_servers": ntp_servers})


def ssh_trust(site: Site) -> dict[str, Any]:
    """Who may sign certificates of people, which keys open nothing any more, and whose must go on to open."""
    ssh = site.ssh
    return {
        "certificate_authorities": list(ssh.certificate_authorities),
        "revoked_keys": list(ssh.revoked_keys),
        "revoked_certificates": ssh.revoked_by_authority(),
        "keys_that_must_open": f"{KEYS_DIRECTORY}/{ssh.user}",
    }


def opens_still(keys: str) -> str:
    """A command that is given a file of revoked keys and fails when none of those in the file ``keys`` is left."""
    judge = "FILENAME == ARGV[1] { gone[$2] = 1; next } NF && !($2 in gone) { left = 1 } END { exit !left }"
    told = "every key of this login would be revoked, and nobody of us could come in any more"
    script = f"""[ ! -e {keys} ] || awk "$1" "$2" {keys} || {{ echo "{told}: {keys}" >&2; exit 1; }}"""
    return f"sh -c {shlex.quote(script)} sh {shlex.quote(judge)}"


def login_files(admins: Sequence[Data]) -> Iterator[NodeFile]:
    """The keys and principals of each person, and what sudo lets them do; visudo reads that before it counts."""
    for admin in admins:
        if admin["authorized_keys"]:
            keys = {"keys": admin["authorized_keys"]}
            yield NodeFile("authorized_keys.j2", f"{KEYS_DIRECTORY}/{admin['name']}", keys)
        if admin.get("principals"):
            path = f"{PRINCIPALS_DIRECTORY}/{admin['name']}"
            yield NodeFile("authorized_principals.j2", path, {"principals": admin["principals"]})
    people = [{"name": admin["name"], "sudo": admin.get("sudo", "all")} for admin in admins]
    check = "visudo --check --strict --file"
    yield NodeFile("sudoers.j2", "/etc/sudoers.d/metalwright-admins", {"admins": people}, mode="440", check=check)


def sshd_files(trust: Data = NO_TRUST) -> Iterator[NodeFile]:
    """sshd with keys only, and with certificates where somebody may sign them; its settings come last.

    The program that makes the list of what is revoked is its own check: it runs whenever its text is another.
    """
    values = {"authorities": None, "revoked": None, "principals": PRINCIPALS_DIRECTORY}
    if trust["certificate_authorities"]:
        values["authorities"] = AUTHORITIES
        yield NodeFile("ssh-keys.j2", AUTHORITIES, {"keys": trust["certificate_authorities"]})
    if trust["revoked_keys"]:
        values["revoked"] = REVOKED_KEYS
        check = opens_still(trust.get("keys_that_must_open", "/nonexistent"))
        yield NodeFile("ssh-keys.j2", REVOKED_KEYS, {"keys": trust["revoked_keys"]}, check=check)
    if trust.get("revoked_certificates"):
        values["revoked"] = REVOKED_LIST
        revoked = {"keys": trust["revoked_keys"], "certificates": trust["revoked_certificates"], "list": REVOKED_LIST}
        yield NodeFile("revoked.sh.j2", "/usr/local/lib/metalwright/revoked.sh", revoked, mode="755", check="sh")
    yield NodeFile("sshd.conf.j2", "/etc/ssh/sshd_config.d/00-metalwright.conf", values, check="sshd -t -f")


def monitoring_files(agents: Mapping[str, str]) -> Iterator[NodeFile]:
    """What the agents of a node (with their versions) read and tell."""
    drop_ins = "/etc/systemd/system"
    if "node_exporter" in agents:
        yield NodeFile("node-exporter.default.j2", "/etc/default/prometheus-node-exporter", {"units": WATCHED_UNITS})
    if "dcgm_exporter" in agents:
        major = agents["dcgm_exporter"].partition(".")[0]
        yield NodeFile("dcgm-counters.csv.j2", DCGM_COUNTERS, {"major": int(major) if major.isdecimal() else 0})
        path = f"{drop_ins}/nvidia-dcgm-exporter.service.d/metalwright.conf"
        yield NodeFile("dcgm-exporter.service.j2", path, {"counters": DCGM_COUNTERS})
    if "amd_metrics_exporter" in agents:
        port = AGENT_PACKAGES["amd_metrics_exporter"].port
        yield NodeFile("amd-exporter.json.j2", "/etc/metrics/config.json", {"port": port})
    if "disk_metrics" in agents:
        for timer in DISK_TIMERS:
            yield NodeFile("disk-timer.j2", f"{drop_ins}/{timer}.d/metalwright.conf")


def label_files(labels: Data) -> Iterator[NodeFile]:
    """Where the node stands and what it is, for programs on it and for its kubelet."""
    yield NodeFile("labels.j2", "/etc/metalwright/labels", {"labels": labels})
    yield NodeFile("kubelet.env.j2", "/etc/metalwright/kubelet.env", {"labels": labels})


def audit_data(blueprint: Blueprint) -> list[str] | None:
    """The rules of the kernel's audit; None where the blueprint asks for none."""
    audit = blueprint.security.audit
    return list(audit_rules(audit.subjects)) if audit is not None else None


def audit_files(rules: Sequence[str] | None) -> Iterator[NodeFile]:
    """What auditd loads at every boot."""
    if rules is not None:
        yield NodeFile("audit.rules.j2", AUDIT_RULES, {"rules": rules}, mode="640")


def firewall_files(
    firewall: str, open_tcp_ports: Sequence[int], scraped: Data, zones: Data = NO_ZONES
) -> Iterator[NodeFile]:
    """What may reach the node; ``scraped`` as :func:`open_ports` has it, ``zones`` as :mod:`metalwright.zones`."""
    values = {"firewall": firewall, "open_tcp_ports": open_tcp_ports, "scraped": scraped, "zones": zones}
    yield NodeFile("nftables.conf.j2", FIREWALL_RULES, values)
