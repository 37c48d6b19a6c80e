"""The shipped firewall keeps a node's networks apart, on a real kernel, and acceptance sees it when it does not."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.desired import blueprint, networks, node, site
from tests.operations.in_band.test_nftables import can_use_nft

from metalwright.acceptance import firewall
from metalwright.acceptance.firewall import apart_checks, probe_answers, probe_command, wrong_ways
from metalwright.acceptance.isolation import probe_command as connections
from metalwright.acceptance.readings import LOADED_RULES, rules_in_force
from metalwright.deploys.rendering import rendered_files
from metalwright.model.addresses import AddressLock, Allocation
from metalwright.model.network import Network
from metalwright.model.rack import Rack
from metalwright.model.repository import SiteRepository
from metalwright.node_files import firewall_files, node_data

pytestmark = pytest.mark.skipif(
    not can_use_nft(), reason="nft is not installed, or needs more rights than this user has"
)
OWN = {"mgmt": "10.1.0.11", "boot": "10.3.0.11", "work": "10.2.1.11"}
THREE = [{"role": "host", "networks": ["host-management", "provisioning", "workload"]}]
SECURITY = {"open_ports": [{"network": "workload", "tcp": [8000, "20-30"], "udp": [8472]}]}
BOOT = Network(name="boot", purpose="provisioning", prefix="10.3.0.0/24", vlan=30)


def repository(**changes: Any) -> SiteRepository:
    wanted = blueprint(**{"network": THREE, "security": SECURITY, **changes})
    return SiteRepository(
        site=site(dns=("10.9.0.3", "10.1.0.3")),
        networks=(*networks(), BOOT),
        racks=(Rack.model_validate({"schema": 1, "name": "r1", "site": "lab", "nodes": [node().to_json()]}),),
        blueprints={wanted.ref: wanted},
        addresses=AddressLock(
            allocations=tuple(Allocation(address=address, network=name, node="lab-1") for name, address in OWN.items())
        ),
        tree_digest="sha256:0",
    )


@pytest.fixture(autouse=True)
def _shipped_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALWRIGHT_SITE", str(Path(__file__).parents[3]))
    monkeypatch.setattr(firewall, "TRIED_S", 0.1)


def rules_of(desired: SiteRepository) -> tuple[str, dict[str, Any]]:
    data = node_data(desired, desired.node("lab-1"))
    files = firewall_files(data["firewall"], data["open_tcp_ports"], data["scraped"], data["zones"])
    (file,) = rendered_files(files)
    return file["text"], data


def in_network(script: str, rules: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """``script`` in a network of its own in which ``rules`` are loaded."""
    (directory / "rules").write_text(rules)
    line = f"ip link set lo up; nft -f rules && {script}"
    namespaces = ["unshare", "--map-root-user", "--net", "--mount"]
    return subprocess.run([*namespaces, "sh", "-c", line], cwd=directory, capture_output=True, text=True, check=False)


def wrong(rules: str, data: dict[str, Any], directory: Path) -> list[str]:
    (check,) = apart_checks(data["zones"], [22, 9100], [])
    done = in_network(probe_command(check), rules, directory)
    answers = probe_answers(done.stdout)
    assert done.returncode == 0, done.stderr
    assert set(answers) == {way["way"] for way in check["ways"]}, done.stderr
    return wrong_ways(check, answers)


def test_networks_are_kept_apart_and_declared_ports_are_open_on_their_network_alone(tmp_path: Path) -> None:
    rules, data = rules_of(repository())
    (check,) = apart_checks(data["zones"], [22, 9100], [])
    ways = {way["way"]: way["is_open"] for way in check["ways"]}
    assert {way for way, is_open in ways.items() if is_open} == {
        "mgmt 10.1.0.11:22", "mgmt 10.1.0.11:9100", "work 10.2.1.11:8000", "work 10.2.1.11:20",
    }  # fmt: skip
    assert {"boot 10.1.0.11:22", "boot 10.3.0.11:22", "work 10.1.0.1:9", "work 10.2.1.11:9100"} < ways.keys()
    assert wrong(rules, data, tmp_path) == []


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("fib daddr . iif type != { local, broadcast, multicast } drop", "from the network work, 10.1.0.11:22 is open"),
        ("ip daddr { 10.1.0.11 } ", "from the network boot, 10.3.0.11:22 is open"),
        ("        drop\n", "from the network boot, 10.1.0.1:9 is open"),
        ("ip daddr 10.2.1.11 tcp dport { 8000, 20-30 } accept", "from the network work, 10.2.1.11:8000 is closed"),
    ],
)
def test_a_rule_that_is_missing_is_seen_by_what_gets_through(rule: str, told: str, tmp_path: Path) -> None:
    rules, data = rules_of(repository())
    assert rule in rules
    assert told in wrong(rules.replace(rule, ""), data, tmp_path)


def test_no_range_of_ports_opens_ssh_and_no_node_connects_to_bmcs(tmp_path: Path) -> None:
    rules, data = rules_of(repository())
    lines = [line.strip() for line in rules.splitlines()]
    opened = lines.index("ip daddr 10.2.1.11 tcp dport { 8000, 20-30 } accept")
    assert lines.index("tcp dport { 22, 9100 } drop") < opened
    assert data["zones"]["services"] == {"ip": ["10.9.0.3"], "ip6": []}
    links = "ip link add bmc type veth peer name far && ip link set bmc up && ip link set far up"
    links += " && ip address add 10.9.0.9/24 dev bmc"
    send = (
        "socket(S, PF_INET, SOCK_DGRAM, 0); connect(S, pack_sockaddr_in(9, inet_aton($ARGV[0])));"
        ' print send(S, "x", 0) ? "sent" : $!, "\\n"'
    )
    ask = f"perl -MSocket -e '{send}'"
    done = in_network(f"{links}; {ask} 10.9.0.12; {ask} 10.9.0.3", rules, tmp_path)
    assert done.stdout.splitlines() == ["Operation not permitted", "sent"], done.stderr


def test_a_node_with_a_single_network_stays_reachable_as_before() -> None:
    """The lab: nothing is told apart there, and no address is asked for."""
    rules, data = rules_of(repository(network=[{"role": "host", "networks": ["host-management"]}], security={}))
    assert "        tcp dport { 22, 9100 } accept\n" in rules
    assert not {"fib", "iifkind"} & set(rules.split())
    assert apart_checks(data["zones"], [22], []) == []


def test_the_rules_in_force_are_compared_with_the_file(tmp_path: Path) -> None:
    rules, _ = rules_of(repository())
    bind = "touch own; mount --bind rules /etc/nftables.conf"
    same = in_network(f"{bind}; {LOADED_RULES}", rules, tmp_path)
    assert rules_in_force(same.stdout) is True, same.stderr
    other = in_network(f"{bind}; nft add rule inet metalwright input accept; {LOADED_RULES}", rules, tmp_path)
    assert rules_in_force(other.stdout) is False
    assert rules_in_force("") is None


CONTAINERS = """\
table ip nat {
    chain published {
        type nat hook prerouting priority dstnat; policy accept;
        fib daddr type local tcp dport { 8000, 8080 } dnat to 172.17.0.2:80
    }
    chain leaving {
        type nat hook postrouting priority srcnat; policy accept;
        ip saddr 172.17.0.0/16 oifname != "br0" masquerade
    }
}
"""
"""What a container runtime adds for a container that publishes port 80 as 8000 and 8080."""


def test_a_port_that_a_container_publishes_is_as_open_as_one_of_the_node_itself(tmp_path: Path) -> None:
    """Real packets: the container's own network works, undeclared ports and other networks' addresses do not."""
    rules, data = rules_of(repository())
    (check,) = apart_checks(data["zones"], [22, 9100], [])
    lines = [
        "mount -t tmpfs tmpfs /run; mkdir /run/netns; echo 1 > /proc/sys/net/ipv4/ip_forward",
        "ip link add br0 type bridge; ip address add 172.17.0.1/16 dev br0; ip link set br0 up; ip netns add box",
        "ip link add near type veth peer name eth0 netns box; ip link set near master br0; ip link set near up",
        "ip -n box address add 172.17.0.2/16 dev eth0; ip -n box link set eth0 up",
        "ip -n box route add default via 172.17.0.1",
    ]
    for item in check["networks"]:
        name, far = item["network"], f"ip -n {item['network']}"
        lines += [
            f"ip netns add {name}; ip link add p-{name} type veth peer name far netns {name}",
            f"ip address add {item['address']}/{item['length']} dev p-{name}; ip link set p-{name} up",
            f"{far} address add {item['neighbour']}/{item['length']} dev far; {far} link set far up",
            f"{far} route add default via {item['address']}",
        ]
    serve = [shlex.join(["ip", "netns", "exec", "box", "perl", "-e", firewall._LISTEN, "80", "--", "sleep", "9"])]
    serve += [shlex.join(["ip", "netns", "exec", "work", "perl", "-e", firewall._LISTEN, "9", "--", "sleep", "9"])]
    ways = [f"{address}:{port}" for address in OWN.values() for port in (8000, 8080)]
    lines += [f"{command} >/dev/null 2>&1 &\n" for command in serve]
    lines += ["sleep 0.5"]
    for name, sources in (("mgmt", ways), ("boot", ways), ("work", ways), ("box", ["10.2.0.1:9"])):
        source = next((item["neighbour"] for item in check["networks"] if item["network"] == name), "172.17.0.2")
        lines += [f"ip netns exec {name} {connections(source, sources, timeout_s=0.1)} | sed 's/^/{name} /'"]
    (tmp_path / "try.sh").write_text("\n".join(lines))
    in_ports = re.sub(r'"veth", ', "", rules)  # the cables of this test are ports, and the bridge is the containers'
    done = in_network("sh try.sh", f"{in_ports}\n{CONTAINERS}", tmp_path)
    answers = probe_answers(done.stdout)
    assert len(answers) == 3 * len(ways) + 1, done.stderr
    assert {way for way, said in answers.items() if said == "open"} == {"work 10.2.1.11:8000", "box 10.2.0.1:9"}
    without = re.sub(r"    chain prerouting \{.*?\n    \}\n", "", in_ports, flags=re.DOTALL)
    leaking = probe_answers(in_network("sh try.sh", f"{without}\n{CONTAINERS}", tmp_path).stdout)
    assert {"boot 10.1.0.11:8080", "work 10.2.1.11:8080"} <= {way for way, said in leaking.items() if said == "open"}
