"""What must be seen on a node, as plain JSON: made from the desired state alone, judged by the suite on the node."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from metalwright.accelerators.packages import accelerator_pins, accelerator_setup
from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.exporters import GPU_EXPORTERS
from metalwright.acceptance.firewall import Firewall, apart_checks
from metalwright.acceptance.gpu_health import gpu_checks
from metalwright.acceptance.links import Link
from metalwright.acceptance.platform_checks import platform_checks
from metalwright.matching.memory import module_size_gib
from metalwright.matching.witnesses import witness_of
from metalwright.model.audit_rules import AUDIT_UNIT, audit_rules
from metalwright.model.blueprint import Blueprint, Hardware, Software
from metalwright.model.image import Image, Stamp
from metalwright.model.package import SSH_PORT, PackagePin, agent_ports, blueprint_pins, package_pins, served_ports
from metalwright.model.rack import Node
from metalwright.model.site import Site
from metalwright.node_files import AUTHORITIES, FIREWALL_RULES, PRINCIPALS_DIRECTORY, REVOKED_KEYS, REVOKED_LIST

SSHD_SETTINGS = {
    "passwordauthentication": "no",
    "kbdinteractiveauthentication": "no",
    "permitemptypasswords": "no",
    "pubkeyauthentication": "yes",
    "permitrootlogin": "no",
    "x11forwarding": "no",
    "authorizedkeysfile": "/etc/ssh/authorized_keys.d/%u",
}
"""What ``sshd -T`` must say under ``security.ssh: key-only``."""


BASE_UNITS = ("ssh.service", "chrony.service", "nftables.service")
"""Services of every node."""


COLLECTION_S = 31
"""Exporters of GPU metrics collect every 30 seconds unless told otherwise."""


def expectations(
    blueprint: Blueprint,
    node: Node,
    *,
    site: Site,
    links: Sequence[Link],
    stamp: Stamp,
    image: Image | None = None,
    deferred: Collection[str] = (),
    isolation: Sequence[Mapping[str, Any]] = (),
    firewall: Firewall | None = None,
) -> dict[str, Any]:
    """Everything to be checked, by kind: ``{"schema": 1, "node": …, "checks": {kind: [{"id": …, …}]}}``.

    Kinds are the test functions of the suite (``package`` → ``test_package``); ids are unique within their kind.
    ``image`` adds the kernel that belongs to it, ``deferred`` (codes of findings that the BMC left open) the checks in
    which a better witness speaks, ``isolation`` those of :func:`~.platform_checks.isolation_checks`. ``firewall``: the
    rules as rendered, and the networks that they keep apart.
    """
    checks = {
        "hostname": [{"id": "name", "hostname": node.name, "fqdn": f"{node.name}.{site.domain}"}],
        "stamp": [{"id": "stamp", "stamp": stamp.to_json()}],
        "kernel": _kernel(image),
        "secure_boot": [{"id": "enabled"}] if blueprint.boot.secure_boot else [],
        **_kernel_settings(blueprint.software),
        "address": [{"id": link.network, **link.to_json()} for link in links],
        "route": [{"id": route.to, **route.to_json()} for link in links for route in link.routes],
        "time": [{"id": "ntp", "servers": list(site.ntp)}],
        "package": [{"id": pin.name, **pin.to_json()} for pin in _pins(blueprint)],
        "service": [{"id": unit.removesuffix(".service"), "unit": unit} for unit in _units(blueprint)],
        "user": [{"id": user.name, **user.to_json()} for user in site.admins],
        "logins": [{"id": "files", **_logins(site)}],
        "sshd": [{"id": key, "value": value} for key, value in (SSHD_SETTINGS | _trust(site)).items()],
        **_reachable(blueprint, firewall),
        "audit_rules": _audit(blueprint),
        **_hardware(blueprint, node),
        **_better_witnesses(blueprint, deferred),
        **platform_checks(blueprint, node, isolation),
        "gpu_health": gpu_checks(blueprint),
        "exporter": _exporters(blueprint),
        "node_metrics": _node_metrics(blueprint),
        "measured": _measured(blueprint, site),
    }
    return {"schema": 1, "node": node.name, "checks": {kind: items for kind, items in checks.items() if items}}


def _reachable(blueprint: Blueprint, firewall: Firewall | None) -> dict[str, list[dict[str, Any]]]:
    """What listens, and what may reach it."""
    served = list(served_ports(blueprint.software))
    opened = [port for item in blueprint.security.open_ports for port in item.tcp]
    ranges = [list(map(int, port.split("-"))) for port in opened if isinstance(port, str)]
    allowed = sorted({*served, *(port for port in opened if isinstance(port, int))})
    ports = {"id": "tcp", "allowed": allowed, **({"ranges": ranges} if ranges else {})}
    if blueprint.security.firewall != "default-deny":
        return {"ports": [ports]}
    rules = [{"id": "loaded", "path": FIREWALL_RULES, "sha256": firewall.sha256}] if firewall is not None else []
    guarded = [SSH_PORT, *(port for port in served if port != SSH_PORT)]
    apart = apart_checks(firewall.zones, guarded, firewall.scrapers) if firewall is not None else []
    return {
        "ports": [ports],
        "firewall": [{"id": "input", "policy": "drop"}],
        "firewall_rules": rules,
        "networks_apart": apart,
    }


def _logins(site: Site) -> dict[str, list[str]]:
    """Who may have keys, and who principals of certificates."""
    with_keys = [user.name for user in site.admins if user.authorized_keys]
    return {
        "keys": sorted({*with_keys, site.ssh.user}),
        "principals": sorted(user.name for user in site.admins if user.principals),
    }


def _trust(site: Site) -> dict[str, str]:
    """What sshd must say of certificates and revoked keys."""
    ssh = site.ssh
    return {
        "trustedusercakeys": AUTHORITIES if ssh.certificate_authorities else "none",
        "authorizedprincipalsfile": f"{PRINCIPALS_DIRECTORY}/%u" if ssh.certificate_authorities else "none",
        "revokedkeys": REVOKED_LIST if ssh.revoked_certificates else REVOKED_KEYS if ssh.revoked_keys else "none",
    }


def _audit(blueprint: Blueprint) -> list[dict[str, Any]]:
    audit = blueprint.security.audit
    return [{"id": "loaded", "rules": list(audit_rules(audit.subjects))}] if audit is not None else []


def required_tests(expected: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that must have a result, ``kind:id`` (measured tests: their own name)."""
    return tuple(check_name(kind, item["id"]) for kind, items in expected["checks"].items() for item in items)


def check_name(kind: str, check_id: str) -> str:
    """How a check is named in results and certificates."""
    return check_id if kind == "measured" else f"{kind}:{check_id}"


def _units(blueprint: Blueprint) -> list[str]:
    setup = accelerator_setup(blueprint)
    named = [pin.unit for pin in package_pins(blueprint.software) if pin.unit is not None]
    audit = [AUDIT_UNIT] if blueprint.security.audit is not None else []
    return [*BASE_UNITS, *named, *audit, *(setup.units if setup is not None else ())]


def _pins(blueprint: Blueprint) -> tuple[PackagePin, ...]:
    return (*blueprint_pins(blueprint), *accelerator_pins(blueprint))


def _kernel(image: Image | None) -> list[dict[str, Any]]:
    """The kernel packages inside the image, when the catalogue lists its packages."""
    prefix = "linux-image-"
    names = [name.removeprefix(prefix) for name in (image.packages if image else {}) if name.startswith(prefix)]
    releases = sorted(name for name in names if name[:1].isdigit())
    return [{"id": "release", "releases": releases}] if releases else []


def _kernel_settings(software: Software) -> dict[str, list[dict[str, Any]]]:
    """How the kernel runs: what it was started with, its settings, the governor of its CPUs."""
    return {
        "kernel_argument": [{"id": argument} for argument in software.kernel_args],
        "sysctl": [{"id": name, "value": value} for name, value in software.kernel_settings.items()],
        "governor": [{"id": "cpu", "governor": software.cpu_governor}] if software.cpu_governor else [],
    }


def _hardware(blueprint: Blueprint, node: Node) -> dict[str, list[dict[str, Any]]]:
    """What the operating system can see of the hardware: settles what the BMC could not tell."""
    hardware = blueprint.hardware
    return {
        "cpus": [{"id": "host", **hardware.cpus.to_json()}],
        "memory": [{"id": "host", **hardware.memory.to_json()}],
        "drives": [
            {"id": group.role, **group.to_json(), "total": sum(each.count for each in hardware.drives)}
            for group in hardware.drives
        ],
        "system_disk": [{"id": "root", **node.system_disk.to_json()}] if node.system_disk else [],
        "nics": [
            {
                "id": group.role,
                **group.to_json(),
                "total": _ports(hardware, group.link),
                "macs": [port.mac for port in node.ports if port.role == group.role],
            }
            for group in hardware.nics
        ],
        "gpus": [{"id": "host", **hardware.gpus.to_json()}] if hardware.gpus else [],
    }


def _ports(hardware: Hardware, link: str) -> int:
    """Of all roles: otherwise the port of one would stand in for that of another."""
    return sum(group.count for group in hardware.nics if group.link == link)


def _better_witnesses(blueprint: Blueprint, deferred: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """Checks that only a silent BMC calls for: firmware tables and drivers name things in words of their own."""
    hardware, alternates = blueprint.hardware, blueprint.hardware.alternates
    witnesses = filter(None, map(witness_of, deferred))
    asked = {prefix.removesuffix(":") for witness in witnesses for prefix in witness.checks}
    product = {**hardware.system.to_json(), "models": [*hardware.system.models, *alternates.get("system", ())]}
    cpus = {"count": hardware.cpus.count, "models": [*hardware.cpus.models, *alternates.get("cpus", ())]}
    checks = {
        "product": [{"id": "smbios", **product}],
        "cpu_model": [{"id": "smbios", **cpus}] if hardware.cpus.models else [],
        "dimms": [{"id": "smbios", **hardware.memory.to_json(), "size_gib": module_size_gib(hardware.memory)}],
        "gpu_model": [{"id": "driver", **_gpu_models(hardware)}] if hardware.gpus else [],
    }
    return {kind: items for kind, items in checks.items() if kind in asked}


def _node_metrics(blueprint: Blueprint) -> list[dict[str, Any]]:
    """What node_exporter must tell, by the names of metrics: also the health of disks where an agent brings it."""
    port = agent_ports(blueprint.software).get("node_exporter")
    wanted = ["node_cpu_seconds_total", "node_memory_MemAvailable_bytes", "node_systemd_unit_state"]
    checks = [{"id": "node_exporter", "port": port, "all": wanted, "any": []}]
    if "disk_metrics" in blueprint.software.agents:
        checks.append({"id": "disk_metrics", "port": port, "all": [], "any": ["nvme_", "smartmon_"]})
    return checks if port is not None else []


def _exporters(blueprint: Blueprint) -> list[dict[str, Any]]:
    """Exporters of GPU metrics, which collect every half minute."""
    gpus = blueprint.hardware.gpus
    return [
        {"id": agent, "url": GPU_EXPORTERS[agent], "gpus": gpus.count, "interval_s": COLLECTION_S}
        for agent in blueprint.software.agents
        if gpus is not None and agent in GPU_EXPORTERS
    ]


def _gpu_models(hardware: Hardware) -> dict[str, Any]:
    wanted = hardware.gpus.to_json() if hardware.gpus is not None else {}
    return {**wanted, "models": [wanted["model"], *hardware.alternates.get("gpus", ())]}


def _measured(blueprint: Blueprint, site: Site) -> list[dict[str, Any]]:
    """The blueprint's own tests that run on the node; the others are settled by the caller."""
    gpus = blueprint.hardware.gpus
    return [
        {
            "id": test.test,
            "floor": test.floor,
            "unit": KNOWN_TESTS[test.test].unit,
            "seconds": test.seconds,
            "vendor": gpus.vendor if gpus else None,
            "gpus": gpus.count if gpus else 0,
            "peer": site.acceptance_peer,
            "infiniband_ports": _ports(blueprint.hardware, "infiniband"),
        }
        for test in blueprint.acceptance
        if test.test in KNOWN_TESTS and KNOWN_TESTS[test.test].runs == "node"
    ]
