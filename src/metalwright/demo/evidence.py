"""``demo/result.json``: every value read afterwards from the node, its BMC or its disk, never from our own memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metalwright.demo.shell import Shell
from metalwright.demo.site import BLUEPRINT, DemoSite, Machine
from metalwright.errors import LabError
from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.imaging.ordering import login_key
from metalwright.model.digests import digest
from metalwright.runner.observe_os import look_at_os
from metalwright.simulator.lab import Lab
from metalwright.simulator.status import MachineStatus
from metalwright.ssh import Session, connect
from metalwright.workspace import Workspace, open_workspace


@dataclass(frozen=True)
class Expected:
    """What the demo must find. ``boot_id_before``: of the node that is rebuilt, before its disk was lost."""

    file_sha256: str
    content_sha256: str
    boot_id_before: str


def gather(demo: DemoSite, shell: Shell, phases: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Look at everything and return the result; ``phases`` are seconds per node as the runs told them.

    Raises:
        LabError: a machine cannot be looked at.
    """
    with open_workspace(demo.root) as workspace:
        nodes = [_node(demo, shell, workspace, machine, phases[machine.name]) for machine in demo.machines]
    return {"schema": 1, "nodes": nodes}


def problems(result: dict[str, Any], expected: Expected, addresses: dict[str, str]) -> list[str]:
    """What is not as planned, one line each; empty means that the demo succeeded."""
    found: list[str] = []
    for node in result["nodes"]:
        name, image = node["name"], node["image"]
        checks = {
            "state": (node["state"], "ready"),
            "file_sha256": (image["file_sha256"], expected.file_sha256),
            "content_sha256": (image["content_sha256"], expected.content_sha256),
            "read_back_sha256": (image["read_back_sha256"], expected.content_sha256),
            "host-management": (node["addresses"].get("host-management"), addresses[name]),
            "certificate": (node["verdict"], "PASS"),
            "data disk": (node["data_disk_is_untouched"], True),
        }
        found += [
            f"{name}: {what} is {seen!r}, expected {wanted!r}"
            for what, (seen, wanted) in checks.items()
            if seen != wanted
        ]
        found += _rebuild_problems(node, expected.boot_id_before)
        found += [f"{name}: phase {item['name']} {item['result']}" for item in node["phases"] if item["result"] != "ok"]
    return found


def boot_id_now(demo: DemoSite, machine: Machine) -> str:
    """The boot id that the node itself reports over SSH. Raises LabError: it does not answer as ours."""
    with open_workspace(demo.root) as workspace:
        view = look_at_os(workspace, machine.name)
    if view.boot_id is None:
        raise LabError("the node does not tell its boot id", where=machine.name, found=view.detail or view.kind)
    return view.boot_id


def rebuilt(demo: DemoSite, shell: Shell, machine: Machine) -> dict[str, Any]:
    """What the node's newest run was and took; ``boot_id`` is the one that it saw after its write, as journalled."""
    times = shell.ask("status", machine.name, "--times")["nodes"][0]
    phases = [{"name": name, "seconds": seconds, "result": "ok"} for name, seconds in times["seconds"].items()]
    with open_workspace(demo.root) as workspace:
        records = workspace.journal.runs.phases_of(run=times["run"], node=machine.name)
    told = [(record.evidence or {}).get("boot_id") for record in records]
    seen = [boot_id for boot_id in told if boot_id]
    return {"result": "ok", "boot_id": seen[-1] if seen else None, "phases": phases}


def _rebuild_problems(node: dict[str, Any], boot_id_before: str) -> list[str]:
    """Whether the system that answers is the one that the rebuild booted, and not the one of before."""
    if "rebuild" not in node:
        return []
    name, seen = node["name"], node["rebuild"]["boot_id"]
    found = [] if seen != boot_id_before else [f"{name}: the boot id is still the one of before the rebuild, {seen}"]
    if seen != node["boot_id"]:
        found.append(f"{name}: the node reports boot id {node['boot_id']}, the rebuild saw {seen}")
    return found


def _node(
    demo: DemoSite, shell: Shell, workspace: Workspace, machine: Machine, phases: list[dict[str, Any]]
) -> dict[str, Any]:
    report = shell.ask("inspect", machine.name)[0]
    status = shell.ask("status", machine.name)["nodes"][0]
    certificate = demo.root.parent / f"{machine.name}.json"
    verdict = shell.ask("certificate", "verify", str(certificate))
    host_key = workspace.ssh_host_key(machine.name)
    if host_key is None:
        raise LabError("no SSH host key is known", where=machine.name)
    with connect(workspace.ssh_target(machine.name), host_key=host_key, key=login_key(workspace)) as session:
        seen = _on_the_node(session)
    disk = _system_disk(demo, machine)
    stamp = decode_stamp(read_stamp_area(str(disk))) or {}
    blueprint = workspace.blueprint(machine.name)
    deployment = workspace.journal.deployments.newest_of_node(machine.name, datetime.now(UTC))
    done = deployment.done if deployment else None
    return {
        "name": machine.name,
        "state": status["state"],
        "serial": report["system"]["serial"],
        "phases": phases,
        "image": {
            "name": f"{blueprint.image.name}@{blueprint.image.version}",
            "file_sha256": str(stamp.get("image", "")).removeprefix("sha256:"),
            "content_sha256": done.content_sha256 if done else None,
            "read_back_sha256": done.read_back_sha256 if done else None,
            "disk": {"serial": seen["disk_serial"]},
        },
        "blueprint": {"ref": BLUEPRINT, "digest": digest(blueprint)},
        "recipe": seen["stamp"]["recipe"],
        "addresses": {"host-management": seen["address"]},
        "versions": seen["versions"],
        "boot_id": seen["boot_id"],
        "certificate": str(certificate),
        "verdict": verdict["verdict"],
        "data_disk_is_untouched": _is_blank(demo, machine),
        "boots": dict(_status(demo, machine).boots),
    }


def _on_the_node(session: Session) -> dict[str, Any]:
    """What the running system says of itself."""

    def ask(*argv: str) -> str:
        done = session.run(argv, sudo=True)
        if done.rc != 0:
            raise LabError(
                "a question to the node failed", where=str(session.target), found=f"{argv}: {done.stderr.strip()}"
            )
        return done.stdout.strip()

    links = json.loads(ask("ip", "-json", "-4", "addr", "show", "scope", "global"))
    addresses = [f"{item['local']}/{item['prefixlen']}" for link in links for item in link["addr_info"]]
    root = ask("findmnt", "-no", "SOURCE", "/")
    parent = ask("lsblk", "-no", "PKNAME", root).splitlines()[0]
    return {
        "stamp": json.loads(ask("cat", "/etc/metalwright/stamp.json")),
        "boot_id": ask("cat", "/proc/sys/kernel/random/boot_id"),
        "address": addresses[0] if addresses else None,
        "disk_serial": ask("lsblk", "-dno", "SERIAL", f"/dev/{parent}"),
        "versions": {
            name: ask("dpkg-query", "-W", "-f", "${Version}", name)
            for name in ("containerd", "prometheus-node-exporter")
        },
    }


def _system_disk(demo: DemoSite, machine: Machine) -> Path:
    return _disk(demo, machine, machine.system_disk)


def _disk(demo: DemoSite, machine: Machine, serial: str) -> Path:
    return Path(next(disk.path for disk in _status(demo, machine).disks if disk.serial == serial))


def _status(demo: DemoSite, machine: Machine) -> MachineStatus:
    return next(item for item in Lab(demo.lab_dir).status().machines if item.name == machine.name)


def _is_blank(demo: DemoSite, machine: Machine) -> bool:
    """Whether the data disk is still one hole from beginning to end."""
    return _disk(demo, machine, machine.data_disk).stat().st_blocks == 0
