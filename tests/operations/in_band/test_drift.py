"""``metalwright drift`` of a node with a real Debian and a simulated BMC: packages, files, services, accounts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.failures.machine_site import BARE, write_stand_ins
from tests.machines import can_run_machines, segment
from tests.machines.site import SITE, MachineSite, machine_site

pytestmark = [
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
    pytest.mark.long,
    pytest.mark.timeout(300),
]
BMC = "127.107.64.1"
FACTORY = 'factory_credentials: [{user: admin, password: "env:FACTORY_PASSWORD"}]\n'
LAB = {
    "machines": [
        {
            "name": "lab-1",
            "serial": "LAB0001",
            "uuid": "6d657461-6c6c-0000-0000-000000000001",
            "memory_mib": 1024,
            "bmc": {"address": BMC, "port": 8443, "macs": ["52:54:00:bc:00:01"]},
        }
    ]
}


class Node:
    """The site of one node; its commands run where the machine is reached."""

    def __init__(self, site: MachineSite) -> None:
        self.site = site

    def metalwright(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "metalwright.cli", "--site", str(self.site.root), *arguments]
        return subprocess.run(
            self.site.segment.on_controller(command),
            env={**os.environ, "FACTORY_PASSWORD": "factory-secret"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def software(self) -> list[dict[str, Any]]:
        """What drift says of the software layer."""
        done = self.metalwright("drift", "lab-1", "--json")
        assert done.returncode == 2, done.stderr
        (seen,) = json.loads(done.stdout)["nodes"]
        assert not [line for line in seen["unknown"] if line.startswith("software")], seen["unknown"]
        return [item for item in seen["differences"] if item["layer"] == "software"]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("drift")
    stand_ins = write_stand_ins(directory / "stand-ins")
    more = f"    bmc_address: {BMC}\n    bmc_port: 8443\n"
    with segment() as wires:
        made = machine_site(directory / "site", wires, site=SITE + FACTORY, setup=BARE, node=more)
        made.machines["lab-1"].put("/srv/stand-ins", stand_ins)
        lab = made.root / "lab.json"
        lab.write_text(json.dumps(LAB))
        node = Node(made)
        up = node.metalwright("lab", "up", "--file", str(lab))
        assert up.returncode == 0, up.stderr
        try:
            done = made.deploy("software")
            assert done.code == 0, done.text
            yield node
        finally:
            node.metalwright("lab", "down", "--wipe")


def test_a_node_as_it_was_deployed_has_no_software_drift(node: Node) -> None:
    assert node.software() == []


def test_what_somebody_changed_on_the_node_is_named_with_both_values(node: Node) -> None:
    node.site.machines["lab-1"].run(
        "apt-mark unhold containerd; systemctl stop chrony; chmod 644 /etc/sudoers.d/metalwright-admins;"
        " echo 'PermitRootLogin yes' >> /etc/ssh/sshd_config.d/00-metalwright.conf;"
        " echo key > /etc/ssh/authorized_keys.d/stranger; nft flush ruleset"
    )
    found = {item["what"]: (item["found"], item["wanted"]) for item in node.software()}
    chrony = found.pop("service chrony.service")
    assert chrony[0].startswith("inactive/dead")
    assert found == {
        "package containerd": ("not on hold", "on hold"),
        "file /etc/sudoers.d/metalwright-admins": ("mode 644", "as rendered"),
        "file /etc/ssh/sshd_config.d/00-metalwright.conf": ("other text", "as rendered"),
        "SSH keys of stranger": ("there", "absent"),
        "packets that no rule names": ("no rules are loaded", "drop"),
    }


def test_a_person_reads_it_by_the_operation_that_mends_it(node: Node) -> None:
    done = node.metalwright("drift", "lab-1")
    assert done.returncode == 2, done.stderr
    lines = done.stdout.splitlines()
    at = lines.index("    Software | Packages | Pinned packages")
    assert lines[at + 1] == "      package containerd: not on hold, wanted on hold"
    assert node.site.deploy("software").code == 0
    assert node.software() == []


def test_the_files_that_a_review_announces_are_those_that_the_deploy_changes(node: Node) -> None:
    root, machine = node.site.root, node.site.machines["lab-1"]

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.net"]
        subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)

    def digests() -> dict[str, str]:
        told = machine.run("find /etc -xdev -type f -exec sha256sum {} +").stdout
        return {line[66:]: line[:64] for line in told.splitlines()}

    git("init", "-qb", "main")
    git("add", "-A")
    git("commit", "-qm", "as deployed")
    for name, old, new in (
        ("inventory/site.yaml", "ntp: [ntp.lab.test]", "ntp: [time.lab.test]"),
        ("templates/node/sshd.conf.j2", "MaxAuthTries 4", "MaxAuthTries 3"),
    ):
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))
    git("commit", "-qam", "other time servers, fewer tries")

    review = json.loads(node.metalwright("review", "HEAD~1..HEAD", "--json").stdout)
    announced = {item["path"] for item in review["files"] if item["written_by"] == "software"}
    (impact,) = review["nodes"]
    assert (impact["node"], impact["reboots"], impact["reimage"]) == ("lab-1", 0, False)
    drifted = {item["what"].removeprefix("file ") for item in node.software()}
    before = digests()
    assert node.site.deploy("software").code == 0
    after = digests()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == announced == drifted == {"/etc/chrony/chrony.conf", "/etc/ssh/sshd_config.d/00-metalwright.conf"}
