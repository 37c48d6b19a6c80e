"""What command outputs say, and that silence says nothing."""

from __future__ import annotations

import json

import pytest

from metalwright.acceptance.readings import (
    addresses_of,
    chrony_servers,
    cpu_sockets,
    disks_of_role,
    exposed_ports,
    input_policy,
    lsblk_disks,
    physical_ports,
    port_names,
    rdma_devices,
    sshd_settings,
    unit_fault,
)

LINKS = json.dumps(
    [
        {"ifname": "lo", "address": "00:00:00:00:00:00"},
        {"ifname": "ens1", "address": "aa:00:00:00:00:99", "permaddr": "aa:00:00:00:00:01", "master": "bond0"},
        {"ifname": "ens2", "address": "aa:00:00:00:00:99", "master": "bond0"}
        | {"linkinfo": {"info_slave_kind": "bond", "info_slave_data": {"perm_hwaddr": "aa:00:00:00:00:02"}}},
        {"ifname": "ens3", "address": "aa:00:00:00:00:03"},
        {"ifname": "bond0", "address": "aa:00:00:00:00:99", "linkinfo": {"info_kind": "bond"}},
        {"ifname": "work", "link": "bond0", "linkinfo": {"info_kind": "vlan", "info_data": {"id": 20}}},
        {"ifname": "other", "link": "ens3", "linkinfo": {"info_kind": "vlan", "info_data": {"id": 20}}},
    ]
)


def test_global_addresses_are_listed_by_interface() -> None:
    text = json.dumps(
        [
            {"ifname": "lo", "addr_info": [{"local": "127.0.0.1", "prefixlen": 8, "scope": "host"}]},
            {
                "ifname": "ens1",
                "addr_info": [
                    {"local": "10.1.0.11", "prefixlen": 24, "scope": "global"},
                    {"local": "fe80::1", "prefixlen": 64, "scope": "link"},
                ],
            },
            {"ifname": "ens2"},
        ]
    )
    assert addresses_of(text) == {"lo": (), "ens1": ("10.1.0.11/24",), "ens2": ()}


def test_an_untagged_network_may_be_on_the_port_or_its_bond() -> None:
    assert port_names(LINKS, ["aa:00:00:00:00:01"], None) == ("bond0", "ens1")
    assert port_names(LINKS, ["aa:00:00:00:00:02"], None) == ("bond0", "ens2")
    assert port_names(LINKS, ["aa:00:00:00:00:03"], None) == ("ens3",)


def test_a_tagged_network_is_on_its_vlan_interface_only() -> None:
    assert port_names(LINKS, ["aa:00:00:00:00:01"], 20) == ("work",)
    assert port_names(LINKS, ["aa:00:00:00:00:03"], 20) == ("other",)
    assert port_names(LINKS, ["aa:00:00:00:00:01"], 21) == ()


def test_sshd_settings_are_read() -> None:
    text = "port 22\nPasswordAuthentication no\nciphers a,b c\n"
    assert sshd_settings(text) == {"port": "22", "passwordauthentication": "no", "ciphers": "a,b c"}


def test_loopback_listeners_are_not_exposed() -> None:
    text = """LISTEN 0 128 0.0.0.0:22 0.0.0.0:*
LISTEN 0 128 [::]:22 [::]:*
LISTEN 0 5 127.0.0.1:631 0.0.0.0:*
LISTEN 0 5 [::1]:632 [::]:*
LISTEN 0 5 127.0.0.53%lo:53 0.0.0.0:*
LISTEN 0 4096 *:9100 *:*
LISTEN 0 4096 10.1.0.11%ens1:111 0.0.0.0:*
"""
    assert exposed_ports(text) == {22, 9100, 111}


def nft(*chains: dict[str, str]) -> str:
    return json.dumps({"nftables": [{"metainfo": {"version": "1.0.6"}}, *({"chain": chain} for chain in chains)]})


def test_only_our_own_input_chain_tells_the_policy() -> None:
    ours = {"family": "inet", "table": "metalwright", "name": "input", "hook": "input", "policy": "drop"}
    other = {**ours, "table": "filter", "policy": "accept"}
    helper = {"family": "inet", "table": "metalwright", "name": "helper"}
    assert input_policy(nft(other, helper, ours)) == "drop"
    assert input_policy(nft(ours | {"policy": "accept"})) == "accept"
    assert input_policy(nft(other, helper)) is None
    assert input_policy(nft()) is None


def test_chrony_sources_are_read_by_name() -> None:
    assert chrony_servers("^,?,10.1.0.2,0,6,0,0,0,0,0\n^,*,ntp.example,2,6\n#,*,PPS,0\n") == {"10.1.0.2", "ntp.example"}


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ("simple loaded active running success", None),
        ("notify loaded active running success", None),
        ("oneshot loaded inactive dead success", None),
        ("oneshot loaded active exited success", None),
        ("oneshot loaded failed failed exit-code", "failed/failed, result exit-code"),
        ("oneshot loaded activating start success", "activating/start, result success"),
        ("simple loaded failed failed exit-code", "failed/failed, result exit-code"),
        ("simple loaded activating auto-restart exit-code", "activating/auto-restart, result exit-code"),
        ("simple loaded inactive dead success", "inactive/dead, result success"),
        ("simple loaded active stop success", "active/stop, result success"),
        ("simple not-found inactive dead success", "not loaded (not-found)"),
    ],
)
def test_units_are_judged_by_type_state_and_result(state: str, fault: str | None) -> None:
    kind, load, active, sub, result = state.split()
    text = f"Type={kind}\nLoadState={load}\nActiveState={active}\nSubState={sub}\nResult={result}\n"
    assert unit_fault(text) == fault


@pytest.mark.parametrize(("active", "fault"), [("active", None), ("inactive", "inactive/dead, result success")])
def test_a_unit_that_remains_after_its_exit_and_is_inactive_never_ran(active: str, fault: str | None) -> None:
    sub = "exited" if active == "active" else "dead"
    text = "Type=oneshot\nRemainAfterExit=yes\nLoadState=loaded\nResult=success\n"
    assert unit_fault(f"{text}ActiveState={active}\nSubState={sub}\n") == fault


def test_no_answer_about_a_unit_is_a_fault() -> None:
    assert unit_fault("") == "not loaded (None)"


def test_sockets_and_cores_are_read_nested_or_flat() -> None:
    flat = [{"field": "Socket(s):", "data": "2"}, {"field": "Core(s) per socket:", "data": "32"}]
    nested = [{"field": "Vendor ID:", "data": "x", "children": flat}]
    for fields in (flat, nested):
        found = cpu_sockets(json.dumps({"lscpu": fields}))
        assert (found.count, found.cores) == (2, 32)
    absent = cpu_sockets(json.dumps({"lscpu": [{"field": "Socket(s):", "data": "-"}, {"field": "X:", "data": None}]}))
    assert (absent.count, absent.cores) == (None, None)


DISKS = json.dumps(
    {
        "blockdevices": [
            {"name": "nvme0n1", "type": "disk", "size": 4000, "tran": "nvme", "serial": " NV1 ", "wwn": "eui.1"}
            | {"mountpoints": [None], "children": [{"name": "nvme0n1p2", "mountpoints": ["/"]}]},
            {"name": "sda", "type": "disk", "size": 9000, "tran": "sata", "rm": True, "mountpoints": [None]},
            {"name": "vda", "type": "disk", "size": 5000, "tran": None, "serial": "", "mountpoints": [None]},
            {"name": "sr0", "type": "rom", "size": 700, "mountpoints": [None]},
            {"name": "sdb", "type": "disk", "size": 0, "tran": "sas", "mountpoints": [None]},
            {"name": "sdc", "type": "disk", "size": 800, "ro": True, "mountpoints": [None]},
        ]
    }
)


def test_disks_are_read_with_what_they_tell() -> None:
    found = {disk.name: disk for disk in lsblk_disks(DISKS)}
    assert set(found) == {"nvme0n1", "sda", "vda"}
    nvme = found["nvme0n1"]
    assert (nvme.protocol, nvme.serial, nvme.holds_root) == ("NVMe", "NV1", True)
    assert (found["vda"].protocol, found["vda"].serial, found["vda"].holds_root) == ("VIRTIO", None, False)


def test_a_role_is_filled_by_size_and_protocol_and_never_by_removable_disks() -> None:
    disks = lsblk_disks(DISKS)
    group = {"min_bytes": 3000, "max_bytes": None, "protocol": None}
    assert [disk.name for disk in disks_of_role(disks, group)] == ["nvme0n1", "vda"]
    assert [disk.name for disk in disks_of_role(disks, group | {"protocol": "NVMe"})] == ["nvme0n1"]
    assert [disk.name for disk in disks_of_role(disks, group | {"max_bytes": 4000})] == ["nvme0n1"]
    assert disks_of_role(disks, group | {"min_bytes": 6000}) == ()


def test_a_port_without_a_speed_is_unknown() -> None:
    text = "AA:00:00:00:00:01 10000\naa:00:00:00:00:02 -1\naa:00:00:00:00:03 cat: speed: Invalid argument\n80:00 5\n"
    assert physical_ports(text) == {
        "aa:00:00:00:00:01": 10.0,
        "aa:00:00:00:00:02": None,
        "aa:00:00:00:00:03": None,
    }


def test_rdma_devices_come_in_the_order_of_their_numbers() -> None:
    assert rdma_devices("mlx5_10\nmlx5_2\nmlx5_0\n") == ("mlx5_0", "mlx5_2", "mlx5_10")
    assert rdma_devices("") == ()
