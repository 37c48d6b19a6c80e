"""Known failures of discovery: odd announcements, odd MACs, and hosts that have not told who they are yet."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.failures.address_site import node, site_with
from tests.simulator.discovery.sites import machine, make_site, node_of, port_of
from tests.unit.inventory.trees import SYS, link, report_of, with_members
from tests.unit.inventory.trees import machine as tree_of_machine

from metalwright.redfish.discovery.ssdp import parse_answer
from metalwright.simulator.running import RunningService, service_in_thread

BMC = "127.94.1.1"
SPELLINGS = ["AABB.CCDD.EE0F", "aa-bb-cc-dd-ee-0f", "AA:BB:CC:DD:EE:0F", "aabbccddee0f"]

SERVICE = "urn:dmtf-org:service:redfish-rest:1"
NO_HTTP = "it names http, which is not used"


def answer(al: str, st: str = SERVICE) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"ST: {st}", f"AL: {al}", "USN: uuid:1::urn:dmtf-org:service:redfish-rest:1", "", ""]
    return "\r\n".join(lines).encode()


@contextmanager
def announcing(address: str, *datagrams: bytes) -> Iterator[int]:
    """Somebody who answers each search with all the datagrams; gives the UDP port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((address, 0))
        server.settimeout(20)

        def serve() -> None:
            question, sender = server.recvfrom(4096)
            if b"ssdp:discover" in question:
                for datagram in datagrams:
                    server.sendto(datagram, sender)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(20)


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with service_in_thread(machine(1), BMC) as running:
        yield running


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_di_02_one_mac_at_two_nodes_is_refused_with_both_names_and_lines(spelling: str, tmp_path: Path) -> None:
    """``check`` refuses the second use and names both nodes and both lines, however the MAC is written."""
    nodes = [node(1, bmc_mac="aa:bb:cc:dd:ee:0f"), node(2, bmc_mac=spelling)]
    run = site_with(tmp_path, nodes).run("check")
    assert run.code == 2
    assert "the MAC address aa:bb:cc:dd:ee:0f (n2) is used twice" in run.out
    lines = re.findall(r"r1\.yaml:(\d+):\d+", run.out)
    assert len({*lines[:2]}) == 2
    assert "for aa:bb:cc:dd:ee:0f (n1)" in run.out


def test_di_02_one_bmc_address_at_two_nodes_is_refused(tmp_path: Path) -> None:
    """The same for the address at which a BMC was racked."""
    run = site_with(tmp_path, [node(1, bmc_address="10.0.0.9"), node(2, bmc_address="10.0.0.9")]).run("check")
    assert run.code == 2
    assert "the BMC address 10.0.0.9 (n2) is used twice" in run.out


@pytest.mark.parametrize(
    ("datagram", "sender", "place", "odd"),
    [
        (answer("/redfish/v1"), "10.0.0.5", "10.0.0.5:443", None),
        (answer("https://[fe80::1]/redfish/v1/", f"{SERVICE}:15"), "fe80::1%lo", "[fe80::1%lo]:443", None),
        (answer("https://10.0.0.5:8443/redfish/v1"), "10.0.0.5", "10.0.0.5:8443", None),
        (answer("http://10.0.0.9/"), "10.0.0.5", "10.0.0.5:443", f"it names another host, 10.0.0.9; {NO_HTTP}"),
    ],
)  # fmt: skip
def test_di_03_an_announcement_leads_to_its_sender(datagram: bytes, sender: str, place: str, odd: str | None) -> None:
    """The sender's address is asked; paths, minor versions and IPv6 are understood, another host in it is told."""
    found = parse_answer(datagram, sender)
    assert found is not None
    assert (str(found.place), found.oddity) == (place, odd)


@pytest.mark.parametrize(
    "datagram",
    [b"", b"\xff\xfe\x00", b"hello", b"NOTIFY * HTTP/1.1\r\n\r\n", answer("x"), answer("/", "upnp:rootdevice"),
     answer("https://[::1/redfish/v1"), answer("https://10.0.0.1:99999/")],
)  # fmt: skip
def test_di_03_what_is_no_announcement_is_ignored(datagram: bytes) -> None:
    """Garbage, other services and broken URLs are passed over."""
    assert parse_answer(datagram, "10.0.0.5") is None


def test_di_03_a_bmc_that_announces_itself_is_found(service: RunningService, tmp_path: Path) -> None:
    """``discover --ssdp`` asks the network and reads who answers."""
    site = make_site(tmp_path, [node_of(machine(1))])
    said = answer(f"https://10.9.9.9:{port_of(service)}/redfish/v1", "urn:dmtf-org:service:redfish-rest:1:9")
    with announcing(BMC, b"garbage", said, said) as port:
        run = site.run("discover", "--ssdp", "--ssdp-group", f"{BMC}:{port}", "--json")
    assert (run.code, [item["node"] for item in run.json["claimed"]]) == (0, ["lab-1"])
    assert f"{BMC}:{port_of(service)} answers the SSDP search; it names another host, 10.9.9.9" in run.err


def test_di_04_a_mac_that_is_not_six_octets_is_refused(tmp_path: Path) -> None:
    """Every spelling has one normal form; five octets are no MAC."""
    for spelling in SPELLINGS:
        assert site_with(tmp_path, [node(1, bmc_mac=spelling)]).run("check").code == 0
    run = site_with(tmp_path, [node(1, bmc_mac="aa:bb:cc:dd:ee")]).run("check")
    assert run.code == 2
    assert "'aa:bb:cc:dd:ee' is not a MAC address of six octets" in run.out


@pytest.mark.parametrize("name", ["usb0", "enx1a2b3c4d5e6f"])
def test_di_05_the_usb_link_to_the_bmc_is_no_network_card(name: str) -> None:
    """A USB interface with a made-up MAC is left out: two boots give the same report, with the real ports only."""

    def booted(mac: str) -> object:
        ports = ({"Id": "NIC1", "MACAddress": "00:11:22:33:44:55"}, {"Id": name, "MACAddress": mac})
        tree = with_members(tree_of_machine(), SYS, "EthernetInterfaces", *ports)
        return report_of(tree).nics

    first, second = booted("1a:2b:3c:4d:5e:6f"), booted("a6:00:de:ad:be:ef")
    assert first == second
    (nic,) = (
        report_of(
            with_members(
                tree_of_machine(), SYS, "EthernetInterfaces", {"Id": "NIC1", "MACAddress": "00:11:22:33:44:55"}
            )
        ).nics
        or ()
    )
    assert [port.mac for port in nic.ports] == ["00:11:22:33:44:55"]


def test_di_06_a_host_that_never_booted_is_not_ready_rather_than_wrong(service: RunningService, tmp_path: Path) -> None:
    """What an off host does not tell is unknown, never a failure; once it has run, a fresh sweep reads it."""
    silent = {
        "@odata.id": "/redfish/v1/Systems/1",
        "Id": "1",
        "PowerState": "Off",
        "BootProgress": {"LastState": "None"},
        "Bios": link("/redfish/v1/Systems/1/Bios"),
        "Links": {"ManagedBy": [link("/redfish/v1/Managers/1")]},
    }
    service.system.faults.set(
        "wrong-answer", method="GET", path="^/redfish/v1/Systems/1$", status=200, body=silent, times=3
    )
    site = make_site(tmp_path, [node_of(machine(1))], port_of(service))
    sweep = ("discover", f"{BMC}/32", "--json")
    (early,) = site.run(*sweep).json["claimed"]
    assert early["keys"] == ["bmc_mac"]
    assert [finding["verdict"] for finding in early["findings"]] == ["DEFERRED", "DEFERRED"]
    run = site.run("match", "lab-1", "--json")
    assert (run.code, run.json["nodes"][0]["verdict"]) == (0, "DEFERRED")
    for _ in range(service.system.faults.active() != []):
        site.run(*sweep, "--fresh")
    (late,) = site.run(*sweep, "--fresh").json["claimed"]
    assert late["keys"] == ["serial", "uuid", "bmc_mac"]
    assert site.run("match", "lab-1").code == 0
