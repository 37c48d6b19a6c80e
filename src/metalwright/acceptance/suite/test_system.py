"""Is it the deployed system: name, stamp, kernel, addresses, time?"""

from __future__ import annotations

import json
from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import addresses_of, chrony_servers, port_names, routers_of
from metalwright.model.image import STAMP_PATH


def test_hostname(host: Host, check: dict[str, Any]) -> None:
    assert host.check_output("hostname") == check["hostname"]
    assert host.check_output("hostname --fqdn") == check["fqdn"]


def test_stamp(host: Host, check: dict[str, Any]) -> None:
    stamp = host.file(STAMP_PATH)
    assert stamp.exists, f"no {STAMP_PATH}: this system was not deployed by metalwright"
    assert json.loads(stamp.content_string) == check["stamp"]


def test_kernel(host: Host, check: dict[str, Any]) -> None:
    assert host.check_output("uname -r") in check["releases"]


def test_secure_boot(host: Host, check: dict[str, Any]) -> None:
    """The firmware's own variable, whose last byte is 1 while Secure Boot is in force."""
    read = host.run("od -An -tx1 /sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
    assert read.rc == 0, "the firmware has no such variable"
    assert read.stdout.split()[-1:] == ["01"], f"Secure Boot is not {check['id']}: {read.stdout.strip()}"


def test_kernel_argument(host: Host, check: dict[str, Any]) -> None:
    """The kernel that runs was started with it: a file of the boot loader proves nothing."""
    words = host.check_output("cat /proc/cmdline").split()
    assert check["id"] in words, f"the kernel was started with: {' '.join(words)}"


def test_sysctl(host: Host, check: dict[str, Any]) -> None:
    found = host.check_output("sysctl --values %s", check["id"])
    assert found.split() == str(check["value"]).split(), f"{check['id']} is {found}"


def test_governor(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """Every frequency policy follows it."""
    read = host.run("cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
    found = read.stdout.split()
    if read.rc != 0 or not found:
        unknown("this machine does not show every frequency policy")
    assert set(found) == {check["governor"]}, f"governors {sorted(set(found))}"


def test_address(host: Host, check: dict[str, Any]) -> None:
    """The address is on a port that may carry it, and nowhere else."""
    found = addresses_of(host.check_output("ip -json address show"))
    holders = [name for name, addresses in found.items() if check["address"] in addresses]
    assert holders, f"{check['address']} is on no interface; found {found}"
    allowed = port_names(host.check_output("ip -json -details link show"), check["macs"], check["vlan"])
    assert not check["macs"] or set(holders) <= set(allowed), f"on {holders}, expected one of {allowed}"
    if check["address_v6"]:
        assert check["address_v6"] in found[holders[0]], f"{check['address_v6']} is not on {holders[0]}: {found}"
    if check["mtu"]:
        mtu = host.file(f"/sys/class/net/{holders[0]}/mtu").content_string
        assert int(mtu) == check["mtu"]


def test_route(host: Host, check: dict[str, Any]) -> None:
    """Packets for that prefix go to the router that the network names, and to no other."""
    family = "-6" if ":" in check["to"] else "-4"
    routers = routers_of(host.check_output(f"ip {family} -json route show to exact {check['to']}"))
    assert routers == (check["via"],), f"{check['to']} goes to {', '.join(routers) or 'no router'}"


def test_time(host: Host, check: dict[str, Any]) -> None:
    """Every NTP server of the site is configured. A server that answers is a matter of the site, not of the node."""
    configured = chrony_servers(host.check_output("chronyc -N -c sources"))
    assert set(check["servers"]) <= configured, f"chrony uses {sorted(configured)}"
