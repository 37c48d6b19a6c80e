"""The DHCP configurations that ``addresses export`` writes, judged by the servers that shall read them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.failures.address_site import node, site_with

FULL = {"gateway": "10.0.0.254", "dhcp_pool": "10.0.0.200-10.0.0.249"}


def exported(root: Path, form: str, *words: str, **network: Any) -> tuple[str, str]:
    """What is written for two nodes, one of which has no MAC: stdout and stderr."""
    nodes = [node(1), {**node(2), "uuid": "6d657461-6c77-4269-8000-000000000002", "bmc_mac": None}]
    nodes[1] = {key: value for key, value in nodes[1].items() if value is not None}
    site = site_with(root, nodes, **network)
    assert site.run("addresses", "allocate").code == 0
    run = site.run("addresses", "export", "--format", form, *words)
    assert run.code == 0, run.err
    return run.out, run.err


def checked(program: str, *words: str) -> None:
    """Let the server judge its configuration; skip where it is not installed."""
    found = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"{program} is not installed here")
    done = subprocess.run([found, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("network", [FULL, {}], ids=["full", "bare"])
def test_kea_takes_the_configuration(network: dict[str, Any], tmp_path: Path) -> None:
    text, _ = exported(tmp_path / "site", "kea", "--interface", "lo", **network)
    (tmp_path / "kea.conf").write_text(text)
    checked("kea-dhcp4", "-t", str(tmp_path / "kea.conf"))


@pytest.mark.parametrize("network", [FULL, {}], ids=["full", "bare"])
def test_dnsmasq_takes_the_configuration(network: dict[str, Any], tmp_path: Path) -> None:
    text, _ = exported(tmp_path / "site", "dnsmasq", "--interface", "lo", **network)
    (tmp_path / "dnsmasq.conf").write_text(text)
    checked("dnsmasq", "--test", f"--conf-file={tmp_path / 'dnsmasq.conf'}")


def test_declared_bmcs_get_their_address_and_strangers_one_of_the_pool(tmp_path: Path) -> None:
    text, notes = exported(tmp_path, "kea", **FULL)
    (subnet,) = json.loads(re.sub(r"^//.*\n", "", text))["Dhcp4"]["subnet4"]
    assert subnet["subnet"] == "10.0.0.0/24"
    assert subnet["pools"] == [{"pool": "10.0.0.200 - 10.0.0.249"}]
    assert subnet["reservations"] == [
        {"hw-address": "52:54:00:ad:00:01", "ip-address": "10.0.0.1", "hostname": "n1-bmc"}
    ]
    options = {item["name"]: item["data"] for item in subnet["option-data"]}
    assert options == {"routers": "10.0.0.254", "ntp-servers": "127.0.0.1", "domain-name": "lab.test"}
    assert "without bmc_mac, so without a fixed address: n2" in notes


def test_a_network_without_pool_says_that_strangers_get_nothing(tmp_path: Path) -> None:
    text, notes = exported(tmp_path, "dnsmasq")
    assert "dhcp-range=set:oob,10.0.0.0,static,255.255.255.0,3600\n" in text
    assert "note: oob has no dhcp_pool: a BMC that no node declares gets no address" in notes


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ("10.0.1.5-10.0.1.9", "outside"),
        ("10.0.0.9-10.0.0.5", "backwards"),
        ("10.0.0.250-10.0.0.254", "gateway"),
        ("x", "not an"),
    ],
)
def test_a_pool_that_cannot_be_is_refused_with_its_line(pool: str, said: str, tmp_path: Path) -> None:
    run = site_with(tmp_path, gateway="10.0.0.254", dhcp_pool=pool).run("check")
    assert run.code == 2
    assert said in run.out


def test_a_broken_template_is_named(tmp_path: Path) -> None:
    site = site_with(tmp_path)
    (tmp_path / "templates/dhcp/kea-dhcp4.conf.j2").write_text("{{ nothing.of_the_kind }}")
    run = site.run("addresses", "export", "--format", "kea")
    assert run.code == 1
    assert "templates/dhcp/kea-dhcp4.conf.j2" in run.err
