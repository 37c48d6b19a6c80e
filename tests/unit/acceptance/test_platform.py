"""Board, clock, mounts, cables and isolation: what the tools print, and what the suite makes of it on a node."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.desired import blueprint, networks, node
from tests.loopback_ssh import LoopbackServer

from metalwright.acceptance.burn_in.tests import tool_packages
from metalwright.acceptance.isolation import probe_answers, reached
from metalwright.acceptance.job import Job
from metalwright.acceptance.platform import (
    Mount,
    PcieLink,
    infiniband_neighbour,
    is_neighbour,
    lldp_neighbours,
    missing_mounts,
    mounts,
    numa_nodes,
    pcie_links,
    tracking,
    uncorrected_errors,
)
from metalwright.acceptance.platform_checks import isolation_checks, platform_checks
from metalwright.acceptance.run import run_acceptance

MAC = "52:54:00:00:00:01"
LEAF = {"leaf-1": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:01"}, "descr": "a switch"}}
PORT = {"id": {"type": "ifname", "value": "Ethernet1/5"}, "descr": "to gpu-1"}
LLDP_ONE = {"lldp": {"interface": {"eth0": {"via": "LLDP", "chassis": LEAF, "port": PORT}}}}
LLDP_MANY = {
    "lldp": {
        "interface": [
            {"eth0": {"via": "LLDP", "chassis": LEAF, "port": PORT}},
            {"eth1": {"via": "LLDP", "chassis": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:02"}}, "port": {}}},
        ]
    }
}
SYNCHRONISED = "A29FC801,162.159.200.1,4,1796061095.1,-0.0001,0.00001,0.00002,-1.2,0.001,0.05,0.0123,0.0021,64.3,Normal"
"""Synthetic, in the fields that ``chronyc -c tracking`` prints."""


def test_pcie_links_are_read_by_adapter() -> None:
    text = f"eth0 {MAC} 16 32.0 GT/s PCIe\nmlx5_0 cat: 8 16.0 GT/s PCIe\nlo 00 0 Unknown\nbroken\n"
    assert pcie_links(text) == (
        PcieLink(name="eth0", mac=MAC, lanes=16, generation=5),
        PcieLink(name="mlx5_0", mac=None, lanes=8, generation=4),
        PcieLink(name="lo", mac=None, lanes=None, generation=None),
    )


def test_numa_nodes_and_memory_errors_are_read() -> None:
    assert numa_nodes('{"lscpu":[{"field":"NUMA:","children":[{"field":"NUMA node(s):","data":"2"}]}]}') == 2
    assert numa_nodes('{"lscpu":[]}') is None
    edac = "/sys/devices/system/edac/mc/mc0/ue_count:0\n/sys/devices/system/edac/mc/mc1/ue_count:3\n"
    assert uncorrected_errors(edac) == {"mc0": 0, "mc1": 3}


def test_what_fstab_wants_and_nobody_mounted_is_missing() -> None:
    def mount(target: str, options: str = "rw") -> Mount:
        return Mount(target=target, file_system="ext4", options=frozenset(options.split(",")))

    wanted = [mount("/"), mount("/scratch"), mount("none"), mount("/mnt", "noauto"), mount("/usb", "defaults,nofail")]
    assert missing_mounts(wanted, [mount("/")]) == ("/scratch",)
    assert missing_mounts(wanted, [mount("/"), mount("/scratch")]) == ()
    with pytest.raises(ValueError, match="no list of file systems"):
        mounts('{"filesystems": 3}')


def test_chrony_is_believed_only_when_it_follows_a_server() -> None:
    found = tracking(SYNCHRONISED)
    assert found is not None
    assert (found.is_synchronised, found.server) == (True, "162.159.200.1")
    assert found.error_s == pytest.approx(0.0001 + 0.0123 / 2 + 0.0021)
    assert tracking(SYNCHRONISED.replace("Normal", "Not synchronised")) == found.model_copy(
        update={"is_synchronised": False}
    )
    for alone in ("00000000", "7F7F0101"):
        lonely = tracking(SYNCHRONISED.replace("A29FC801", alone))
        assert lonely is not None
        assert not lonely.is_synchronised
    assert tracking("506 Cannot talk to daemon") is None


def test_neighbours_are_read_whether_there_are_one_or_many() -> None:
    assert lldp_neighbours(json.dumps(LLDP_ONE)) == {"eth0": ("leaf-1", "Ethernet1/5")}
    assert lldp_neighbours(json.dumps(LLDP_MANY)) == {
        "eth0": ("leaf-1", "Ethernet1/5"),
        "eth1": ("aa:bb:cc:00:00:02", None),
    }
    assert lldp_neighbours('{"lldp": {}}') == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["lldp", "interface", "eth0", "chassis", "port", "id", "value"]), inner, max_size=4
    ),
)  # fmt: skip


@given(JSON)
def test_no_json_of_lldp_is_a_crash(document: Any) -> None:
    assert isinstance(lldp_neighbours(json.dumps(document)), dict)


@pytest.mark.parametrize(
    ("wanted", "system", "port", "same"),
    [
        ("leaf-1", "leaf-1", None, True),
        ("leaf-1", "LEAF-1.dc.example", "Ethernet1", True),
        ("leaf-1", "leaf-10", None, False),
        ("leaf-1:Ethernet1/5", "leaf-1", "Ethernet1/5", True),
        ("leaf-1:Ethernet1/5", "leaf-1", "Ethernet1/6", False),
        ("leaf-1:Ethernet1/5", "leaf-1", None, False),
    ],
)
def test_a_neighbour_is_the_named_switch_and_port(wanted: str, system: str, port: str | None, same: bool) -> None:
    assert is_neighbour(wanted, system, port) == same


def test_infiniband_switches_tell_their_name_in_the_node_description() -> None:
    assert infiniband_neighbour("Node Description:......MF0;leaf-1:MQM9790/U1\n") == "leaf-1"
    assert infiniband_neighbour("Node Description:......leaf-2\n") == "leaf-2"
    assert infiniband_neighbour("ibwarn: timeout") is None


def test_a_refusal_is_an_answer_and_silence_is_none() -> None:
    text = "10.0.0.1:443 open\n10.0.0.1:22 refused\n10.0.0.2:443 silent\n10.0.0.2:22 unreachable\nnoise\n"
    assert reached(probe_answers(text)) == ("10.0.0.1:443", "10.0.0.1:22")


def test_the_checks_follow_from_blueprint_rack_file_and_networks() -> None:
    hardware = blueprint().hardware.to_json()
    hardware["cpus"]["numa_nodes"] = 2
    hardware["memory"]["ecc"] = True
    hardware["nics"] = [
        {"role": "host", "count": 1, "pcie_lanes": 8},
        {"role": "fabric", "count": 2, "link": "infiniband"},
    ]
    cabling = [
        {"port": "host-0", "to": "leaf-1"},
        {"port": "host-1", "to": "leaf-2"},
        {"port": "fabric-1", "to": "ib-2"},
    ]
    wanted = blueprint(hardware=hardware, cabling=cabling)
    isolation = isolation_checks(networks(), {"work": "10.2.1.11", "oob": "10.9.0.11"}, ["10.9.0.11", "10.9.0.12"])
    checks = platform_checks(wanted, node(), isolation)
    assert checks["pcie"][0] | {"macs": []} == {
        "id": "host", "count": 1, "link": "ethernet", "lanes": 8, "generation": None, "macs": [],
    }  # fmt: skip
    assert checks["numa"] == [{"id": "nodes", "nodes": 2}]
    assert checks["memory_ecc"] == [{"id": "host", "uncorrected": 0}]
    assert [(cable["id"], cable["link"], cable["mac"]) for cable in checks["cabling"]] == [
        ("host-0", "ethernet", MAC),
        ("host-1", "ethernet", None),
        ("fabric-1", "infiniband", None),
    ]
    assert [cable["index"] for cable in checks["cabling"]] == [0, 1, 1]
    targets = ["10.9.0.11:443", "10.9.0.11:22", "10.9.0.12:443", "10.9.0.12:22"]
    assert checks["isolation"] == [{"id": "work", "source": "10.2.1.11", "targets": targets}]
    assert isolation_checks(networks(), {"mgmt": "10.1.0.11"}, ["10.9.0.11"]) == ()
    plain = platform_checks(blueprint(), node(), ())
    assert {kind for kind, items in plain.items() if items} == {"mounts", "clock"}


def test_the_tools_of_the_tests_are_installed_with_the_software() -> None:
    tests = [{"test": name, "record": True} for name in ("fio-read", "stress-cpu", "cpu-hash", "disk-read", "power")]
    cabling = [{"port": "host-0", "to": "leaf-1"}]
    assert tool_packages(blueprint(acceptance=tests, cabling=cabling)) == ("fio", "lldpd", "stress-ng")
    assert tool_packages(blueprint()) == ()


IP_LINK = json.dumps([{"ifname": "eth0", "address": MAC}, {"ifname": "eth1", "address": "52:54:00:00:00:02"}])


def test_a_node_is_judged_by_what_it_tells(
    ssh_server: LoopbackServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mounts, clock and isolation by this machine's own tools; cables by tools that stand in."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (
        ("lldpcli", json.dumps(LLDP_MANY)),
        ("ip", IP_LINK),
        ("chronyc", SYNCHRONISED),
        ("smpquery", "Node Description:......MF0;ib-1:MQM9790/U1"),
    ):
        (tmp_path / f"{name}.txt").write_text(text)
        (tools / name).write_text(f"#!/bin/sh\ncat {tmp_path}/{name}.txt\n")
        (tools / name).chmod(0o755)
    (tools / "perl").write_text(
        '#!/bin/sh\ncase "$*" in *127.106.5.9*) shift 5; for t; do echo $t silent; done; exit;; esac\n'
        'exec /usr/bin/perl "$@"\n'
    )
    (tools / "perl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    cable = {"link": "ethernet", "index": 0, "mac": MAC}
    with socket.create_server(("127.106.5.1", 0)) as bmc:
        reachable = f"127.106.5.1:{bmc.getsockname()[1]}"
        checks = {
            "mounts": [{"id": "fstab", "root_option": "rw"}],
            "clock": [{"id": "controller", "limit_s": 10.0}],
            "cabling": [
                {"id": "host-0", "to": "leaf-1", **cable},
                {"id": "host-1", "to": "leaf-2", **cable},
                {"id": "host-2", "to": "leaf-1", **cable, "mac": None},
                {"id": "fabric-0", "to": "ib-1", **cable, "link": "infiniband"},
            ],
            "isolation": [
                {"id": "leak", "source": "127.106.5.2", "targets": [reachable]},
                {"id": "tight", "source": "127.106.5.2", "targets": ["203.0.113.1:443"]},
                {"id": "blind", "source": "127.106.5.9", "targets": [reachable]},
                {"id": "no-address", "source": "10.250.0.1", "targets": [reachable]},
            ],
            "measured": [
                {"id": "time-sync", "floor": None, "unit": "ms", "seconds": 1, "vendor": None, "gpus": 0, "peer": None}
            ],
        }
        job = Job(
            target=dataclasses.replace(ssh_server.target, user="root"),
            host_key=ssh_server.public_host_key,
            expected={"schema": 1, "node": "n1", "checks": checks},
            private_key=ssh_server.client_key_path,
        )
        result = run_acceptance(job, tmp_path / "evidence")
    why = {test.name: test.why or "" for test in result.tests}
    assert {test.name: test.verdict for test in result.tests} == {
        "mounts:fstab": "PASS",
        "clock:controller": "PASS",
        "cabling:host-0": "PASS",
        "cabling:host-1": "FAIL",
        "cabling:host-2": "NOT-RUN",
        "cabling:fabric-0": "NOT-RUN",
        "isolation:leak": "FAIL",
        "isolation:tight": "PASS",
        "isolation:blind": "NOT-RUN",
        "isolation:no-address": "NOT-RUN",
        "time-sync": "PASS",
    }, why
    assert why["cabling:host-1"].startswith("plugged into")
    assert reachable in why["isolation:leak"]
    assert "does not even reach 127.106.5.9:22" in why["isolation:blind"]
    assert "did not work" in why["isolation:no-address"]
