"""DHCP for nodes that boot from the network: only for those that may, judged by the servers that shall read it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.failures.address_site import node, site_with
from tests.simulator.discovery.sites import SiteOnDisk
from tests.unit.dhcp.test_dhcp import checked

from metalwright.workspace import open_workspace

PXE = "network_boot: {pxe: true}\n"


def site_of_two(root: Path, settings: str = PXE) -> SiteOnDisk:
    """Two nodes with a host port each, addresses allocated."""
    nodes = [{**node(number), "ports": [{"mac": f"52:54:00:1a:00:{number:02x}", "role": "host"}]} for number in (1, 2)]
    nodes[1]["uuid"] = "6d657461-6c77-4269-8000-000000000002"
    site = with_network(site_with(root, nodes))
    site_file = root / "inventory/site.yaml"
    site_file.write_text(site_file.read_text() + settings)
    assert site.run("addresses", "allocate").code == 0
    return site


def with_network(site: SiteOnDisk) -> SiteOnDisk:
    """The same site, whose blueprint joins its host ports to the host network."""
    path = site.root / "blueprints/lab-vm/1.0.0.yaml"
    path.write_text(path.read_text() + "network: [{role: host, networks: [host-management]}]\n")
    return site


def exported(site: SiteOnDisk, form: str, *words: str) -> str:
    run = site.run("addresses", "export", "--for", "boot", "--format", form, "--interface", "lo", *words)
    assert run.code == 0, run.err
    return run.out


def kea(text: str) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(re.sub(r"(?m)^\s*//.*\n", "", text))["Dhcp4"]
    return config


@pytest.mark.parametrize("settings", [PXE, ""], ids=["pxe", "addresses alone"])
@pytest.mark.parametrize(
    ("form", "program", "option"),
    [("kea", "kea-dhcp4", "-t"), ("dnsmasq", "dnsmasq", "--test")],
    ids=["kea", "dnsmasq"],
)
def test_both_servers_take_the_configuration(
    form: str, program: str, option: str, settings: str, tmp_path: Path
) -> None:
    text = exported(site_of_two(tmp_path / "site", settings), form, "--node", "n1")
    (tmp_path / "dhcp.conf").write_text(text)
    words = [option, str(tmp_path / "dhcp.conf")] if form == "kea" else [option, f"--conf-file={tmp_path}/dhcp.conf"]
    checked(program, *words)


def test_only_nodes_with_a_run_in_flight_or_named_ones_get_an_answer(tmp_path: Path) -> None:
    site = site_of_two(tmp_path)
    assert kea(exported(site, "kea"))["subnet4"][0]["reservations"] == []
    with open_workspace(tmp_path) as workspace:
        run = workspace.journal.runs.start("provision", ["n2"]).id
        workspace.journal.runs.start_node(run, "n2", blueprint="lab-vm@1.0.0", recipe="sha256:0")
    (subnet,) = kea(exported(site, "kea"))["subnet4"]
    assert [item["hostname"] for item in subnet["reservations"]] == ["n2"]
    assert subnet["reservations"][0]["hw-address"] == "52:54:00:1a:00:02"
    assert subnet["pools"] == []
    hosts = re.findall(r"(?m)^dhcp-host=(\S+),10\.1\.0\.\d+,(\S+)$", exported(site, "dnsmasq", "--node", "n1"))
    assert [name for _, name in hosts] == ["n1", "n2"]


def test_a_site_can_declare_that_every_node_is_always_in_it(tmp_path: Path) -> None:
    text = exported(site_of_two(tmp_path, "network_boot: {reservations: all}\n"), "dnsmasq")
    assert len(re.findall(r"(?m)^dhcp-host=", text)) == 2


def test_uefi_is_told_by_architecture_where_to_go_and_bios_is_refused(tmp_path: Path) -> None:
    site = site_of_two(tmp_path)
    lines = exported(site, "dnsmasq").splitlines()
    assert "dhcp-ignore=tag:bios" in lines
    boots = [line for line in lines if line.startswith("dhcp-boot=")]
    assert [re.sub(r"http://[\d.]+:\d+", "URL", line) for line in boots[::2]] == [
        "dhcp-boot=tag:efi-http,tag:!ipxe,URL/pxe/snponly.efi",
        "dhcp-boot=tag:ipxe,URL/pxe/boot.ipxe?mac=${netX/mac}",
    ]
    assert boots[1].startswith("dhcp-boot=tag:efi-pxe,tag:!ipxe,snponly.efi,,")
    classes = {item["name"]: item for item in kea(exported(site, "kea"))["client-classes"]}
    assert classes["DROP"]["test"] == "option[93].hex == 0x0000"
    assert set(classes) == {"DROP", "ipxe", "efi-pxe", "efi-http"}


def test_without_leave_for_pxe_addresses_alone_are_given(tmp_path: Path) -> None:
    site = site_of_two(tmp_path, "")
    assert "dhcp-boot" not in exported(site, "dnsmasq", "--node", "n1")
    assert "client-classes" not in kea(exported(site, "kea", "--node", "n1"))


def test_a_node_that_cannot_be_in_it_is_told_with_the_reason(tmp_path: Path) -> None:
    site = with_network(site_with(tmp_path, [node(1)]))
    assert site.run("addresses", "allocate").code == 0
    run = site.run("addresses", "export", "--for", "boot", "--format", "kea", "--node", "n1")
    assert "n1: no port of role host has a MAC in the rack file" in run.err


@pytest.mark.parametrize(
    ("settings", "ports", "said"),
    [
        ("", True, "pxe: site.yaml does not allow it (network_boot.pxe)"),
        (PXE, False, "pxe: the node declares no port MAC, or neither serial nor UUID"),
        (PXE, True, None),
    ],
)
def test_check_refuses_a_node_that_site_or_rack_file_keep_from_booting(
    settings: str, ports: bool, said: str | None, tmp_path: Path
) -> None:
    port = {"ports": [{"mac": "52:54:00:1a:00:01", "role": "host"}]} if ports else {}
    site = with_network(site_with(tmp_path, [{**node(1), **port}]))
    blueprint = tmp_path / "blueprints/lab-vm/1.0.0.yaml"
    blueprint.write_text(blueprint.read_text() + "boot: {method: [pxe]}\n")
    site_file = tmp_path / "inventory/site.yaml"
    site_file.write_text(site_file.read_text() + settings)
    assert site.run("addresses", "allocate").code == 0
    run = site.run("check")
    if said is None:
        assert "can be booted in no way" not in run.out
    else:
        assert run.code == 2
        assert said in run.out
        assert "blueprints/lab-vm/1.0.0.yaml" in run.out
