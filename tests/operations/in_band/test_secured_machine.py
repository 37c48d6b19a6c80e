"""The whole software phase on a node with two networks and an audit, and the acceptance of what it made secure."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.failures.machine_site import BARE, write_stand_ins
from tests.machines import Machine, can_run_machines, segment
from tests.machines.site import MachineSite, machine_site

from metalwright.acceptance.expectations import expectations
from metalwright.acceptance.firewall import Firewall
from metalwright.acceptance.job import Job
from metalwright.acceptance.run import run_acceptance
from metalwright.deploys.rendering import rendered_files
from metalwright.loading import load_site
from metalwright.loading.locks import write_addresses
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.image import Stamp
from metalwright.node_files import firewall_files, node_data
from metalwright.ssh.target import target_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
    pytest.mark.skipif(shutil.which("auditctl") is None, reason="auditd is not installed"),
]
WORK = "10.108.0.2"
WORK_MAC = "52:54:00:6b:01:01"
KINDS = ("audit_rules", "firewall", "firewall_rules", "logins", "networks_apart", "ports", "sshd", "user")
SECOND_PORT = f"""
cat > /etc/systemd/system/second-port.service <<'END'
[Unit]
DefaultDependencies=no
Before=systemd-networkd.service basic.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'ip link add work0 address {WORK_MAC} type veth peer name work1 && ip link set work1 up'
END
mkdir -p /etc/systemd/system/basic.target.wants
ln -s ../second-port.service /etc/systemd/system/basic.target.wants/
"""
AUDIT = """
cat > /usr/sbin/auditctl <<'END'
#!/bin/sh
# The stand-in of auditctl: a machine of namespaces may not ask the kernel's audit.
[ ! -e /etc/stand-in-refused ] || { echo "Error sending request (Operation not permitted)" >&2; exit 255; }
case "$1" in
-l) cat /run/stand-in-audit 2>/dev/null || echo "No rules";;
-s) echo "enabled $(cat /run/stand-in-enabled 2>/dev/null || echo 0)";;
-e) echo "$2" > /run/stand-in-enabled;;
esac
END
printf '#!/bin/sh\\ncat /etc/audit/rules.d/*.rules > /run/stand-in-audit\\n' > /usr/sbin/augenrules
printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' \
  > /lib/systemd/system/auditd.service
chmod 755 /usr/sbin/auditctl /usr/sbin/augenrules
apt-mark unhold auditd >/dev/null 2>&1 || true
"""
"""auditd is this computer's own package; its programs are stand-ins."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A deployed node on a management and a workload network."""
    directory = tmp_path_factory.mktemp("secured")
    stand_ins = write_stand_ins(directory / "stand-ins")
    security = "{audit: {version: 3.0.9}, open_ports: [{network: workload, tcp: [8000]}]}"
    with segment() as wires:
        made = machine_site(directory / "site", wires, security=security, setup=BARE + SECOND_PORT + AUDIT)
        join_workload_network(made)
        made.machines["lab-1"].put("/srv/stand-ins", stand_ins)
        done = made.deploy("software")
        assert done.code == 0, done.text
        assert {"Firewall rules", "Audit in force", "Accounts"} <= done.changed
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    return site.machines["lab-1"]


def join_workload_network(site: MachineSite) -> None:
    inventory = site.root / "inventory"
    networks = inventory / "networks.yaml"
    networks.write_text(f"{networks.read_text()}  - {{name: work, purpose: workload, prefix: 10.108.0.0/16}}\n")
    rack = inventory / "racks/rack-1.yaml"
    rack.write_text(rack.read_text().replace("role: host}]", f'role: host}}, {{mac: "{WORK_MAC}", role: work}}]'))
    blueprint = site.root / "blueprints/lab-own/1.0.0.yaml"
    text = blueprint.read_text().replace(
        "  - {role: host, networks: [host-management]}\n",
        "  - {role: host, networks: [host-management]}\n  - {role: work, networks: [workload]}\n",
    )
    port = "    - {role: host, count: 1, link: ethernet}\n"
    assert port in text
    blueprint.write_text(text.replace(port, f"{port}    - {{role: work, count: 1, link: ethernet}}\n"))
    addresses = {"hosts": site.machines["lab-1"].address, "work": WORK}
    allocations = (Allocation(address=address, network=name, node="lab-1") for name, address in addresses.items())
    write_addresses(inventory / "addresses.lock", AddressLock(allocations=tuple(allocations)))


def accept(site: MachineSite, directory: Path) -> dict[str, tuple[str, str]]:
    """Name → verdict and reason of the checks of this file, asked from the controller."""
    module = "tests.operations.in_band.test_secured_machine"
    code = f"from {module} import judge; judge({str(site.root)!r}, {str(directory)!r})"
    done = subprocess.run(
        site.segment.on_controller(["env", f"METALWRIGHT_SITE={site.root}", sys.executable, "-c", code]),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: (verdict, why) for name, verdict, why in json.loads(done.stdout)}


def judge(root: str, directory: str) -> None:
    """Run the checks as ``accept`` does and print each with its verdict."""
    repository = load_site(Path(root))
    node = repository.node("lab-1")
    data = node_data(repository, node)
    (file,) = rendered_files(firewall_files(data["firewall"], data["open_tcp_ports"], data["scraped"], data["zones"]))
    firewall = Firewall(hashlib.sha256(file["text"].encode()).hexdigest(), data["zones"])
    written = datetime(2026, 11, 30, tzinfo=UTC)
    stamp = Stamp(node="lab-1", run="r", recipe="sha256:1", image="sha256:2", journal="j", written=written)
    blueprint = repository.blueprint_of("lab-1")
    expected = expectations(blueprint, node, site=repository.site, links=(), stamp=stamp, firewall=firewall)
    checks = {kind: items for kind, items in expected["checks"].items() if kind in KINDS}
    target = target_of(repository, node)
    assert target is not None
    (known,) = (Path(root) / ".metalwright/known_hosts").read_text().splitlines()
    key = Path(str(repository.site.ssh.private_key))
    job = Job(target, known.split(" ", 1)[1], {**expected, "checks": checks}, key)
    result = run_acceptance(job, Path(directory))
    json.dump([(test.name, test.verdict, test.why or "") for test in result.tests], sys.stdout)


def test_a_second_run_changes_nothing(site: MachineSite) -> None:
    assert site.deploy("software").changed == set()


def test_the_controller_gets_in_by_the_management_address_alone(site: MachineSite, node: Machine) -> None:
    """Also where it has a way to the other address of the node."""
    via = f"ip route replace 10.108.0.0/16 via {node.address}"
    subprocess.run(site.segment.on_controller(["sh", "-c", via]), check=True)
    ask = "exec 3<>/dev/tcp/{}/22 && head -c 4 <&3"
    tries = {
        address: subprocess.run(
            site.segment.on_controller(["timeout", "3", "bash", "-c", ask.format(address)]),
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for address in (node.address, WORK)
    }
    assert tries == {node.address: "SSH-", WORK: ""}


def test_acceptance_passes_what_is_secure_and_names_what_somebody_opened(
    site: MachineSite, node: Machine, tmp_path: Path
) -> None:
    first = accept(site, tmp_path / "first")
    assert {name: verdict for name, (verdict, _) in first.items() if verdict != "PASS"} == {}, first
    assert {"networks_apart:probe", "firewall_rules:loaded", "audit_rules:loaded", "user:operator"} <= first.keys()

    node.run(
        "nft insert rule inet metalwright let_in tcp dport 22 accept; echo > /run/stand-in-audit;"
        " touch /etc/ssh/authorized_keys.d/stranger; nft insert rule inet metalwright forward accept"
    )
    second = accept(site, tmp_path / "second")
    failed = {name: why for name, (verdict, why) in second.items() if verdict != "PASS"}
    assert failed.keys() == {"networks_apart:probe", "firewall_rules:loaded", "audit_rules:loaded", "logins:files"}
    assert f"from the network work, {WORK}:22 is open" in failed["networks_apart:probe"]
    assert "stranger" in failed["logins:files"]
    shown = site.pyinfra("--dry", "--diff", "inventory/nodes.py", "deploys/software.py").text
    assert "firewall rules in force: others → those of /etc/nftables.conf" in shown
    assert site.deploy("software").changed >= {"Firewall in force", "Audit in force", "Accounts"}
    assert {verdict for verdict, _ in accept(site, tmp_path / "third").values()} == {"PASS"}


def test_an_audit_that_may_not_be_asked_is_no_pass(site: MachineSite, node: Machine, tmp_path: Path) -> None:
    node.run("touch /etc/stand-in-refused")
    try:
        assert accept(site, tmp_path)["audit_rules:loaded"][0] == "NOT-RUN"
        done = site.deploy("software")
    finally:
        node.run("rm /etc/stand-in-refused")
    assert done.code != 0
    assert "the kernel does not audit what the blueprint says" in done.text
    assert "Operation not permitted" in done.text
