"""Known failures of address allocation, through the command line on files on disk."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.failures.address_site import lock_of, node, oob_addresses, set_nodes, site_with
from tests.unit.imaging.test_seed import files as seed_files
from tests.unit.imaging.test_seed import repository as seed_site

from metalwright.allocations import Probe, allocate_addresses, probing
from metalwright.errors import AddressError

TODAY = date(2026, 11, 30)


def test_ad_01_twenty_allocations_at_once_give_twenty_addresses_and_never_move_one(tmp_path: Path) -> None:
    """One process at a time rewrites the lock file; a node that asks again keeps its address."""
    site = site_with(tmp_path, map(node, range(1, 21)), "10.0.0.0/27")
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(tmp_path), "addresses", "allocate"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as other, ThreadPoolExecutor(10) as threads:
        done = list(threads.map(lambda _: allocate_addresses(tmp_path, date.today()), range(20)))
    assert (other.returncode, len(done)) == (0, 20)
    first = oob_addresses(site)
    assert len(set(first.values())) == len(first) == 20
    assert sum(item.has_changed for item in done) <= 1
    assert site.run("addresses", "allocate").code == 0
    assert oob_addresses(site) == first


def test_ad_03_reserved_ranges_are_never_given(tmp_path: Path) -> None:
    """Ranges, single addresses and the gateway are left out; ranges may overlap and must lie in the prefix."""
    ranges = ["10.0.0.1-10.0.0.99", "10.0.0.50-10.0.0.60", "10.0.0.101"]
    site = site_with(tmp_path, [node(1), node(2)], reserved=ranges)
    assert site.run("addresses", "allocate").code == 0
    assert oob_addresses(site) == {"n1": "10.0.0.100", "n2": "10.0.0.102"}
    site = site_with(tmp_path, reserved=["10.0.1.1-10.0.1.9"])
    run = site.run("check")
    assert (run.code, "networks.yaml:" in run.out) == (2, True)
    assert "reserved 10.0.1.1-10.0.1.9 is outside 10.0.0.0/24" in run.out


@pytest.mark.parametrize(
    ("oob", "more", "expected"),
    [
        ("192.0.2.0/29", {}, [f"192.0.2.{number}" for number in range(1, 7)]),
        ("192.0.2.0/29", {"pool": True}, [f"192.0.2.{number}" for number in range(8)]),
    ],
)
def test_ad_04_every_host_address_is_used_and_no_other(
    oob: str, more: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    """A subnet keeps network and broadcast address back, a pool nothing; a full one says how many are missing."""
    site = site_with(tmp_path, [node(number) for number in range(len(expected))], oob, **more)
    assert site.run("addresses", "allocate").code == 0
    assert sorted(oob_addresses(site).values()) == expected
    set_nodes(site, [node(number) for number in range(len(expected) + 1)])
    run = site.run("addresses", "allocate")
    assert run.code == 1
    assert "1 more addresses are needed, 0 are free" in run.err


def test_ad_04_ipv6_has_no_broadcast(tmp_path: Path) -> None:
    """The last IPv6 address is given, the routers' anycast at the beginning is not."""
    site = site_with(tmp_path, [node(number) for number in range(3)], prefix_v6="2001:db8::/126")
    assert site.run("addresses", "allocate").code == 0
    six = [item.address for item in lock_of(site).allocations if item.version == 6]
    assert six == ["2001:db8::1", "2001:db8::2", "2001:db8::3"]


def test_ad_06_a_node_holds_its_address_as_long_as_the_inventory_has_it(tmp_path: Path) -> None:
    """Nothing expires: an address is free only after its node left the inventory, and after it fell silent."""
    site = site_with(tmp_path, [node(1)])
    allocate_addresses(tmp_path, TODAY)
    set_nodes(site, [node(1), node(2)])
    allocate_addresses(tmp_path, TODAY + timedelta(days=4000))
    assert oob_addresses(site) == {"n1": "10.0.0.1", "n2": "10.0.0.2"}
    set_nodes(site, [node(2)])
    allocate_addresses(tmp_path, TODAY + timedelta(days=4001))
    set_nodes(site, [node(2), node(3)])
    seen = Probe(answering=frozenset({"10.0.0.1"}))
    done = allocate_addresses(
        tmp_path, TODAY + timedelta(days=5000), look=lambda asked: seen if "10.0.0.1" in asked else Probe()
    )
    assert oob_addresses(site)["n3"] == "10.0.0.3"
    assert "10.0.0.1, formerly of n1, answers although no node has it; it is not given away" in done.notes


def test_ad_07_a_deleted_host_leaves_no_name_behind(tmp_path: Path) -> None:
    """Names come from nodes, never from addresses: a tombstone is skipped in one pass and is in no host file."""
    site = site_with(tmp_path, [node(1), node(2)])
    assert site.run("addresses", "allocate").code == 0
    set_nodes(site, [node(2), node(3)])
    run = site.run("addresses", "allocate")
    assert (run.code, oob_addresses(site)["n3"]) == (0, "10.0.0.3")
    assert "note: 10.0.0.1 of n1 on oob is free from today" in run.err
    hosts = site.run("addresses", "export").out
    assert "n3-bmc" in hosts
    assert "n1" not in hosts


@pytest.mark.parametrize("vlan", ["0", "4095", "4096", "-1", '"10a"', '"010"', "1.5", "true"])
def test_ad_08_what_is_no_vlan_id_is_refused_with_its_line(vlan: str, tmp_path: Path) -> None:
    """Only whole numbers from 1 to 4094 are VLANs; everything else is refused with file and line."""
    site = site_with(tmp_path)
    path = tmp_path / "inventory/networks.yaml"
    lines = path.read_text().splitlines()
    at = next(index for index, line in enumerate(lines) if "oob-management" in line)
    path.write_text("\n".join([*lines[: at + 1], f"  vlan: {vlan}", *lines[at + 1 :]]))
    run = site.run("check")
    assert run.code == 2
    assert f"networks.yaml:{at + 2}:" in run.out


def test_ad_08_the_last_vlan_id_is_valid_and_the_first_is_warned_of(tmp_path: Path) -> None:
    """4094 is a VLAN; 1 is the default of every switch port, which is worth a warning."""
    run = site_with(tmp_path, vlan=4094).run("check")
    assert (run.code, "VLAN" in run.out) == (0, False)
    run = site_with(tmp_path, vlan=1).run("check")
    assert "network oob uses VLAN 1, the default of every switch port" in run.out


def test_ad_09_the_gateway_is_nobodys_address(tmp_path: Path) -> None:
    """The gateway is never given, may not be pinned, and must lie in its prefix."""
    site = site_with(tmp_path, gateway="10.0.0.1")
    assert site.run("addresses", "allocate").code == 0
    assert oob_addresses(site) == {"n1": "10.0.0.2"}
    set_nodes(site, [node(1, addresses={"oob-management": "10.0.0.1"})])
    run = site.run("check")
    assert run.code == 2
    assert "10.0.0.1, the gateway" in run.out
    run = site_with(tmp_path, gateway="10.3.0.1").run("check")
    assert (run.code, "gateway 10.3.0.1 is outside 10.0.0.0/24" in run.out) == (2, True)


def test_ad_10_an_address_that_a_stranger_uses_is_not_given_and_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--probe`` asks first: a stranger's address is recorded and skipped, an unreachable network is said."""
    site = site_with(tmp_path)

    async def ask(address: str) -> bool | None:
        return {"10.0.0.1": True}.get(address, None if address.startswith("10.1.") else False)

    monkeypatch.setattr(probing, "_ask", ask)
    run = site.run("addresses", "allocate", "--probe")
    assert run.code == 0
    assert "10.0.0.1 answers although no node has it; it is not given away" in run.err
    assert "not asked, since there is no way there from this machine: 10.1.0.1" in run.err
    assert oob_addresses(site) == {"n1": "10.0.0.2"}
    set_nodes(site, [node(1), node(2)])
    assert site.run("addresses", "allocate").code == 0
    assert oob_addresses(site)["n2"] == "10.0.0.3"
    assert [item.node for item in lock_of(site).allocations if item.address == "10.0.0.1"] == ["foreign-device"]


def test_ad_10_a_range_full_of_strangers_is_for_a_person(tmp_path: Path) -> None:
    """A network where everything answers is told after a few looks instead of being walked to its end."""
    site_with(tmp_path)
    with pytest.raises(AddressError, match="in a row answer although no node has them"):
        allocate_addresses(tmp_path, TODAY, look=lambda asked: Probe(answering=frozenset(asked)))


def test_ad_10_somebody_who_refuses_the_connection_is_there() -> None:
    """A refusal is an answer, too."""
    assert probing.answering_addresses(["127.94.0.7"]).answering == {"127.94.0.7"}


def test_ad_11_only_physical_ports_are_matched_by_their_mac() -> None:
    """Ports are matched by permanent MAC; bonds and VLANs, which share it, by the name that they were made with."""
    made = seed_files(seed_site(bond="802.3ad", networks=("host-management", "workload")))
    by_mac = [path for path, text in made.items() if "MACAddress" in text]
    assert by_mac == ["/etc/systemd/network/10-bond-host-port.network"]
    assert "[Match]\nPermanentMACAddress=52:54:00:aa:00:01\n" in made[by_mac[0]]
    assert "[Match]\nName=bond-host\n" in made["/etc/systemd/network/10-host.network"]
    assert "[Match]\nName=vlan120\n" in made["/etc/systemd/network/10-vlan120.network"]


@pytest.mark.parametrize(
    ("pins", "said"),
    [
        (["10.9.9.9"], "n1 pins 10.9.9.9 on oob"),
        (["10.0.0.4", "10.0.0.4"], "10.0.0.4 is pinned for n2, but belongs to n1"),
    ],
)
def test_ad_12_a_pin_that_cannot_be_kept_is_refused_before_anything_is_planned(
    pins: list[str], said: str, tmp_path: Path
) -> None:
    """``check`` refuses a pin outside of its network, and one address for two nodes."""
    nodes = [node(number, addresses={"oob-management": pin}) for number, pin in enumerate(pins, 1)]
    run = site_with(tmp_path, nodes).run("check")
    assert run.code == 2
    assert said in run.out


def test_ad_13_a_released_address_rests_before_another_node_gets_it(tmp_path: Path) -> None:
    """Thirty days, or until nothing else is left, and then the one that is free for longest, with a warning."""
    site = site_with(tmp_path, [node(1), node(2)], "192.0.2.0/29")
    allocate_addresses(tmp_path, TODAY)
    set_nodes(site, [node(2), node(3)])
    allocate_addresses(tmp_path, TODAY)
    assert oob_addresses(site)["n3"] == "192.0.2.3"
    set_nodes(site, [node(2), node(3), node(4)])
    allocate_addresses(tmp_path, TODAY + timedelta(days=29))
    assert oob_addresses(site)["n4"] == "192.0.2.4"
    set_nodes(site, [node(number) for number in (2, 3, 4, 5, 6)])
    allocate_addresses(tmp_path, TODAY + timedelta(days=29))
    set_nodes(site, [node(number) for number in (2, 3, 4, 5, 6, 7)])
    done = allocate_addresses(tmp_path, TODAY + timedelta(days=29))
    assert oob_addresses(site)["n7"] == "192.0.2.1"
    assert "192.0.2.1, free since 2026-11-30, is given away before its 30 days are over" in done.notes[0]


def test_ad_14_a_declared_bmc_gets_its_own_address_from_dhcp_and_no_second_one(tmp_path: Path) -> None:
    """DHCP gives a declared BMC its allocated address by its MAC; the pool for strangers is kept from nodes."""
    site = site_with(
        tmp_path, [node(1), node(2, addresses={"oob-management": "10.0.0.40"})], dhcp_pool="10.0.0.1-10.0.0.19"
    )
    assert site.run("addresses", "allocate").code == 0
    assert oob_addresses(site) == {"n1": "10.0.0.20", "n2": "10.0.0.40"}
    made = site.run("addresses", "export", "--format", "dnsmasq").out
    reserved = [line.split(",")[1] for line in made.splitlines() if line.startswith("dhcp-host=52:54:00:ad:00:")]
    assert reserved == ["10.0.0.20", "10.0.0.40"]
    assert "dhcp-range=set:oob,10.0.0.1,10.0.0.19,255.255.255.0,3600" in made
    set_nodes(site, [node(1, addresses={"oob-management": "10.0.0.7"})])
    run = site.run("check")
    assert (run.code, "10.0.0.7, in dhcp_pool" in run.out) == (2, True)
