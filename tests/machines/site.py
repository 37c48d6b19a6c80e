"""A site whose nodes are machines of namespaces, and the real pyinfra as the controller's process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.machines.machine import Machine, Segment
from tests.operations.redfish.site import PyinfraRun

from metalwright.loading.locks import write_addresses
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.ssh import record_host_key
from metalwright.ssh.keys import ensure_private_key
from metalwright.starter.site import create_site

SITE = """schema: 1
name: lab
domain: lab.test
ntp: [ntp.lab.test]
boot_server: {address_for_bmc: 127.107.0.9, address_for_node: 127.107.0.9}
admins:
  - name: operator
    authorized_keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKHNcCyfQaIsYvj5Vs28P/uiJ5XBlQSJVoZP3faZZXyS operator]
apt: {sources: ["deb [trusted=yes] file:/srv/stand-ins ./"]}
"""
NETWORKS = """schema: 1
networks:
  - {name: oob, purpose: oob-management, prefix: 127.107.64.0/24}
  - {name: hosts, purpose: host-management, prefix: 10.107.0.0/16}
"""
LOGIN = """
useradd --create-home --shell /bin/bash metalwright
echo 'metalwright ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/metalwright
chmod 440 /etc/sudoers.d/metalwright
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
echo 'AuthorizedKeysFile /etc/ssh/authorized_keys.d/%u' > /etc/ssh/sshd_config.d/00-metalwright.conf
echo {name} > /etc/hostname
echo '127.0.1.1 {name}.lab.test {name}' >> /etc/hosts
cat > /etc/metalwright/stamp.json <<'STAMP'
{{"magic": "metalwright-stamp", "schema": 1, "node": "{name}", "run": "r-1", "recipe": "sha256:0", "image": "sha256:0",
 "journal": "j-1", "written": "2026-11-30T00:00:00Z"}}
STAMP
cat > /etc/ssh/authorized_keys.d/metalwright <<'KEY'
{key}
KEY
"""


@dataclass
class MachineSite:
    """A site repository, the segment of its machines, and the machines by node name."""

    root: Path
    segment: Segment
    machines: dict[str, Machine]

    def pyinfra(self, *arguments: str, **environment: str) -> PyinfraRun:
        """Run pyinfra on the controller, in the site."""
        program = str(Path(sys.executable).with_name("pyinfra"))
        done = subprocess.run(
            self.segment.on_controller([program, *arguments]),
            cwd=self.root,
            env={**os.environ, "PYINFRA_PROGRESS": "off", "METALWRIGHT_SITE": str(self.root), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return PyinfraRun(done.returncode, done.stdout, done.stderr)

    def deploy(self, name: str, *arguments: str, **environment: str) -> PyinfraRun:
        """Run a deploy of the site on all nodes with ``-y --json``."""
        return self.pyinfra("-y", "--json", "inventory/nodes.py", f"deploys/{name}.py", *arguments, **environment)

    def write_deploy(self, name: str, body: str) -> None:
        """A deploy of the test's own, ``deploys/<name>.py``."""
        (self.root / "deploys" / f"{name}.py").write_text(body, encoding="utf-8")


def machine_site(
    root: Path,
    segment: Segment,
    names: Sequence[str] = ("lab-1",),
    *,
    site: str = SITE,
    software: str | None = None,
    security: str | None = None,
    blueprint: str | None = None,
    setup: str = "",
    node: str = "",
) -> MachineSite:
    """A site of machines that answer on SSH. ``setup`` runs in each before its first boot, ``node`` are further
    lines of each node's record. ``software`` and ``security`` replace those sections of the blueprint ``lab-vm``;
    ``blueprint`` names one that the test writes itself."""
    blueprint = blueprint or ("lab-vm@1.0.0" if software is None and security is None else "lab-own@1.0.0")
    machines, nodes, allocations = {}, [], []
    key = ensure_private_key(root.parent / "key")
    public = subprocess.run(["ssh-keygen", "-y", "-f", str(key)], check=True, capture_output=True, text=True).stdout
    for name in names:
        machine = segment.machine(name, setup=LOGIN.format(name=name, key=public.strip()) + setup)
        machines[name] = machine
        nodes.append(_node_lines(machine, blueprint) + node)
        allocations.append(Allocation(address=machine.address, network="hosts", node=name))
    rack = "schema: 1\nname: rack-1\nsite: lab\nnodes:\n" + "".join(nodes)
    site = f"{site}ssh: {{private_key: {key}}}\n"
    create_site(root, inventory={"site.yaml": site, "networks.yaml": NETWORKS, "racks/rack-1.yaml": rack})
    for template in (root / "templates/seed").glob("*.network.j2"):  # the port of a machine has no permanent address
        template.write_text(template.read_text(encoding="utf-8").replace("PermanentMACAddress", "MACAddress"))
    if blueprint == "lab-own@1.0.0":
        write_blueprint(root, software, security)
    write_addresses(root / "inventory/addresses.lock", AddressLock(allocations=tuple(allocations)))
    made = MachineSite(root, segment, machines)
    for machine in machines.values():
        machine.boot()
        record_host_key(
            _known_hosts(root), machine.address, 22, machine.run("cat /etc/ssh/ssh_host_ed25519_key.pub").stdout
        )
    return made


def _known_hosts(root: Path) -> Path:
    path = root / ".metalwright" / "known_hosts"
    path.parent.mkdir(exist_ok=True)
    return path


def _node_lines(machine: Machine, blueprint: str) -> str:
    return (
        f"  - name: {machine.name}\n    serial: LAB{machine.number:04}\n"
        f"    uuid: 6d657461-6c6c-0000-0000-0000000000{machine.number:02x}\n"
        f'    bmc_mac: "52:54:00:bc:00:{machine.number:02x}"\n    blueprint: {blueprint}\n'
        f'    ports: [{{mac: "{machine.mac}", role: host}}]\n'
    )


def write_blueprint(root: Path, software: str | None, security: str | None) -> None:
    """Write the blueprint ``lab-own@1.0.0``: ``lab-vm`` with other sections (YAML in flow style or indented)."""
    text = (root / "blueprints/lab-vm/1.0.0.yaml").read_text(encoding="utf-8").replace("name: lab-vm", "name: lab-own")
    for key, section in (("software", software), ("security", security)):
        if section is not None:
            text = re.sub(rf"^{key}:.*\n(  .*\n)*", f"{key}: {section}\n", text, flags=re.MULTILINE)
    path = root / "blueprints/lab-own/1.0.0.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
