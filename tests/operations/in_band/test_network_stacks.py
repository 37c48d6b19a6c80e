"""Networks by netplan and by NetworkManager, on trial: the real programs, on a machine of namespaces.

The system is Debian with the programs that Ubuntu and Rocky Linux have; the deploy is that of the networks alone.
netplan also has udev name the ports again, which such a machine does not let it: udevadm is a stand-in there.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.machines import Machine, can_run_machines, segment
from tests.machines.site import MachineSite, machine_site, write_blueprint
from tests.operations.in_band.stand_in import commands_of

from metalwright.operations import networks
from metalwright.operations.networks import activation

QUICK = ("--data", "trial_limit_s=15")
BODY = "from metalwright.deploys.networks import networks\n\nnetworks()\n"


@dataclass(frozen=True)
class Case:
    """``cut``: what in the template becomes what, so that the node gets another address."""

    os: str
    program: str
    file: str
    template: str
    match: tuple[str, str]
    cut: tuple[str, str]
    setup: str


CASES = (
    Case(
        os="ubuntu-24.04", program="netplan", file="/etc/netplan/90-metalwright.yaml", template="netplan.yaml.j2",
        match=('{macaddress: "{{ port.mac }}"}', '{name: "host0"}'),
        cut=("{{ ip.addresses | tojson }}", '["10.99.0.9/24"]'),
        setup="mkdir -p /etc/netplan; rm -f /etc/netplan/*\n"
        "printf 'network: {version: 2, ethernets: {other: {match: {name: nothing0}, dhcp4: true}}}\\n'"
        " > /etc/netplan/50-cloud-init.yaml; chmod 600 /etc/netplan/*\n"
        "rm /usr/bin/udevadm; printf '#!/bin/sh\\n' > /usr/bin/udevadm; chmod 755 /usr/bin/udevadm\n",
    ),
    Case(
        os="rocky-9", program="NetworkManager", template="connection.nmconnection.j2",
        file="/etc/NetworkManager/system-connections/10-host.nmconnection",
        match=("", ""),
        cut=("address{{ loop.index }}={{ address }}", "address1=10.99.0.9/24"),
        setup="sed -i s/systemd-networkd.service/NetworkManager.service/ /etc/systemd/system/machine.target\n"
        "rm -f /etc/NetworkManager/system-connections/*\n",
    ),
)  # fmt: skip


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.program)
def case(request: pytest.FixtureRequest) -> Case:
    """What configures the networks."""
    chosen: Case = request.param
    if not can_run_machines() or shutil.which(chosen.program) is None:
        pytest.skip(f"machines of namespaces need root, systemd and sshd; this one {chosen.program}")
    return chosen


@pytest.fixture(scope="module")
def site(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A node whose image has that system."""
    with segment() as wires:
        root = tmp_path_factory.mktemp(case.program) / "site"
        made = machine_site(root, wires, setup=case.setup, blueprint="lab-own@1.0.0")
        write_blueprint(root, None, None)
        path = root / "blueprints/lab-own/1.0.0.yaml"
        path.write_text(path.read_text().replace("  name: debian-12\n", f"  name: debian-12\n  os: {case.os}\n"))
        edit(root / "templates/seed" / case.template, case.match)
        made.write_deploy("only_networks", BODY)
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    """The one machine."""
    return site.machines["lab-1"]


def edit(path: Path, change: tuple[str, str]) -> str:
    """Returns the text before."""
    text = path.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change) if change[0] else text, encoding="utf-8")
    return text


@pytest.mark.long
def test_the_networks_come_up_are_proven_and_stay(site: MachineSite, node: Machine, case: Case) -> None:
    done = site.deploy("only_networks", *QUICK)
    assert (done.code, "Network settings" in done.changed) == (0, True), done.text
    assert node.run(f"stat --format=%a {case.file}").stdout == "600\n"
    assert f"{node.address}/16" in node.run("ip -brief address show host0").stdout
    assert node.run("ls /etc/netplan 2>/dev/null | grep -v metalwright", check=False).stdout == ""
    assert node.run("ls /var/lib/metalwright/trials").stdout == ""
    if case.program == "NetworkManager":
        assert "10-host:host0" in node.run("nmcli --terse --fields NAME,DEVICE connection show --active").stdout
    assert site.deploy("only_networks", *QUICK).changed == set()


@pytest.mark.long
def test_networks_that_cut_the_node_off_are_taken_back(site: MachineSite, node: Machine, case: Case) -> None:
    before = node.run(f"cat {case.file}").stdout
    template = site.root / "templates/seed" / case.template
    kept = edit(template, case.cut)
    try:
        done = site.deploy("only_networks", *QUICK)
    finally:
        template.write_text(kept, encoding="utf-8")
    assert done.code != 0
    assert "the new settings (networks) cut the node off" in done.text
    assert "Traceback" not in done.text
    assert node.run(f"cat {case.file}").stdout == before
    assert f"{node.address}/16" in node.run("ip -brief address show host0").stdout
    assert site.deploy("only_networks", *QUICK).changed == set()


def test_network_manager_brings_up_what_others_are_on_first_and_ports_with_their_bond() -> None:
    root = "/etc/NetworkManager/system-connections"
    names = ["10-bond-host-port-0", "10-host", "10-vlan40", "11-fabric-0", "10-bond-host-port-1"]
    line = activation([f"{root}/{name}.nmconnection" for name in names])
    done = subprocess.run(["sh", "-c", f"nmcli() {{ echo $*; }}; {line}"], capture_output=True, text=True, check=True)
    ups = [words.rpartition(" ")[2] for words in done.stdout.splitlines()[1:]]
    assert done.stdout.splitlines()[0] == "connection reload"
    assert ups == ["10-host", "10-vlan40", "11-fabric-0"]


def test_netplan_puts_files_of_others_aside_and_makes_its_own_again_before_the_network_at_a_boot() -> None:
    files = [{"path": "/etc/netplan/90-metalwright.yaml", "text": "network: {version: 2}\n", "mode": "600"}]
    facts = {"DirectoryFiles": ("/etc/netplan/50-cloud-init.yaml",), "FileStates": {}}
    (arm, _, remove, apply, _), _ = commands_of(networks.applied, facts, files=files, stack="netplan", limit_s=60.0)
    assert "/etc/netplan/50-cloud-init.yaml\\n/etc/netplan/90-metalwright.yaml" in arm
    assert "printf '%s\\n' 'netplan generate' > at-boot" in arm
    assert (remove, apply) == ("rm /etc/netplan/50-cloud-init.yaml", "netplan apply")
