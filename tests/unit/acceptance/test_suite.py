"""Each check of the suite by what a node answers: the right answer passes, a wrong one, silence or a refusal never."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from metalwright.acceptance.readings import LSBLK, lsblk_disks, sshd_settings
from metalwright.acceptance.suite import test_access as access
from metalwright.acceptance.suite import test_hardware as hardware
from metalwright.acceptance.suite import test_platform as platform
from metalwright.acceptance.suite import test_software as software
from metalwright.acceptance.suite import test_system as system

Answers = Mapping[str, str]
DEBIAN = {"uname -s": "Linux", "uname -m": "x86_64", "cat /etc/os-release": 'ID=debian\nVERSION_ID="12"\n'}


class Node(BaseBackend):  # type: ignore[misc]  # testinfra ships no types
    """Answers a command by a part of its text; ``rc`` of all of them. What it does not know is not found."""

    NAME = "told"

    def __init__(self, answers: Answers, rc: int = 0) -> None:
        super().__init__("node")
        self.answers, self.rc = answers, rc

    def run(self, command: str, *args: str, **_: Any) -> CommandResult:
        line = self.quote(command, *args)
        if line in DEBIAN:  # what testinfra asks before it looks at a file
            return self.result(0, line.encode(), DEBIAN[line], "")
        found = next((text for part, text in self.answers.items() if part in line), None)
        return self.result(127 if found is None else self.rc, line.encode(), found or "", "")


@dataclass(frozen=True)
class Case:
    """A check, what a node says that is right, and by name what makes it wrong."""

    check: dict[str, Any]
    good: Answers
    bad: Mapping[str, Answers]


def shown(**properties: str) -> str:
    wanted = {"LoadState": "loaded", "Type": "notify", "ActiveState": "active", "SubState": "running"}
    return "".join(f"{key}={value}\n" for key, value in (wanted | {"Result": "success"} | properties).items())


def disk(**changes: Any) -> str:
    own = {"name": "nvme0n1", "type": "disk", "size": 4000, "tran": "nvme", "serial": "NV1", "wwn": None}
    return json.dumps({"blockdevices": [own | {"mountpoints": ["/"]} | changes]})


def lscpu(**fields: str) -> str:
    return json.dumps({"lscpu": [{"field": f"{key}:", "data": value} for key, value in fields.items()]})


STAMP = {"node": "n1", "image": "sha256:1"}
MAC = "aa:00:00:00:00:01"
ADDRESSES = [
    {"local": "10.1.0.11", "prefixlen": 24, "scope": "global"},
    {"local": "2001:db8::11", "prefixlen": 64, "scope": "global"},
]
ADDRESS = json.dumps([{"ifname": "ens1", "addr_info": ADDRESSES}])
ROUTE = {"dst": "10.9.0.0/16", "gateway": "10.1.0.1", "dev": "ens1"}
PORT = json.dumps([{"ifname": "ens1", "address": MAC}])
OTHER_PORT = json.dumps([{"ifname": "ens1", "address": "aa:00:00:00:00:02"}])
SOCKETS = lscpu(**{"Socket(s)": "2", "Core(s) per socket": "32", "NUMA node(s)": "2"})
CHAIN = {"family": "inet", "table": "metalwright", "name": "input", "hook": "input", "policy": "drop"}
ROOT = {"target": "/", "fstype": "ext4", "options": "rw,relatime"}
IN_FORCE = f"rules-loaded:{'0' * 64}\nrules-written:{'0' * 64}\n"
APART = {"network": "work", "prefix": "10.2.0.0/22", "address": "10.2.1.11", "length": 22, "neighbour": "10.2.0.1"}
AUDIT_RULE = "-w /etc/passwd -p wa -k metalwright-identity"
MAY_ALL = "User op may run the following commands on n1:\n    (ALL : ALL) NOPASSWD: ALL\n"
PERSON = {"getent": "op:x:1000", "keys.d": "ssh-ed25519 A\n", "principals.d": "op-1\n", "sudo": MAY_ALL}
PCI = "0x10de 0x030200\n"


def mounted(*rows: Mapping[str, str]) -> str:
    return json.dumps({"filesystems": rows})


def chain(**changes: str) -> str:
    return json.dumps({"nftables": [{"chain": CHAIN | changes}]})


CASES: dict[str, Case] = {
    "hostname": Case(
        {"hostname": "n1", "fqdn": "n1.lab"},
        {"--fqdn": "n1.lab", "hostname": "n1"},
        {"name": {"hostname": "n1.lab"}, "domain": {"--fqdn": "n1", "hostname": "n1"}},
    ),
    "stamp": Case(
        {"stamp": STAMP},
        {"test -e": "", "cat": json.dumps(STAMP)},
        {"another": {"test -e": "", "cat": json.dumps(STAMP | {"image": "sha256:2"})}},
    ),
    "kernel": Case({"releases": ["6.1.0-41"]}, {"uname": "6.1.0-41"}, {"another": {"uname": "6.1.0-42"}}),
    "secure_boot": Case({"id": "enabled"}, {"od ": " 06 00 00 00 01"}, {"off": {"od ": " 06 00 00 00 00"}}),
    "kernel_argument": Case(
        {"id": "iommu=pt"}, {"cmdline": "root=/dev/x iommu=pt"}, {"prefix": {"cmdline": "iommu=pto"}}
    ),
    "sysctl": Case({"id": "vm.swappiness", "value": 1}, {"sysctl": "1"}, {"another": {"sysctl": "60"}}),
    "governor": Case(
        {"governor": "performance"},
        {"scaling": "performance\nperformance\n"},
        {"one": {"scaling": "performance\npowersave\n"}},
    ),
    "address": Case(
        {"address": "10.1.0.11/24", "address_v6": "2001:db8::11/64", "macs": [MAC], "vlan": None, "mtu": 9000},
        {"address show": ADDRESS, "link show": PORT, "cat": "9000"},
        {
            "nowhere": {"address show": ADDRESS.replace("0.11", "0.12"), "link show": PORT, "cat": "9000"},
            "no IPv6": {"address show": ADDRESS.replace("::11", "::12"), "link show": PORT, "cat": "9000"},
            "another port": {"address show": ADDRESS, "link show": OTHER_PORT, "cat": "9000"},
            "mtu": {"address show": ADDRESS, "link show": PORT, "cat": "1500"},
        },
    ),
    "route": Case(
        {"id": "10.9.0.0/16", "to": "10.9.0.0/16", "via": "10.1.0.1"},
        {"route show to exact 10.9.0.0/16": json.dumps([ROUTE])},
        {
            "none": {"route show": "[]"},
            "another router": {"route show": json.dumps([ROUTE | {"gateway": "10.1.0.2"}])},
            "two routers": {"route show": json.dumps([ROUTE, ROUTE | {"gateway": "10.1.0.2"}])},
        },
    ),
    "time": Case({"servers": ["ntp.lab"]}, {"chronyc": "^,*,ntp.lab,2\n"}, {"another": {"chronyc": "^,*,pool,2\n"}}),
    "package": Case(
        {"id": "chrony", "name": "chrony", "version": "4.3", "unit": None, "port": None},
        {"dpkg-query": "hi |4.3-2"},
        {
            name: {"dpkg-query": text}
            for name, text in (
                ("not held", "ii |4.3-2"),
                ("half", "hF |4.3-2"),
                ("removed", "hc |4.3-2"),
                ("version", "hi |4.4-1"),
            )
        },
    ),
    "service": Case(
        {"unit": "chrony.service"},
        {"systemctl": shown()},
        {
            "dead": {"systemctl": shown(ActiveState="inactive", SubState="dead")},
            "never ran": {"systemctl": shown(Type="oneshot", RemainAfterExit="yes", ActiveState="inactive")},
            "failed": {"systemctl": shown(Result="exit-code")},
        },
    ),
    "ports": Case(
        {"allowed": [22]},
        {"ss ": "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"},
        {"more": {"ss ": "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\nLISTEN 0 128 *:80 *:*\n"}},
    ),
    "firewall": Case(
        {"policy": "drop"},
        {"nft": chain()},
        {"open": {"nft": chain(policy="accept")}, "foreign": {"nft": chain(table="x")}},
    ),
    "firewall_rules": Case(
        {"path": "/etc/nftables.conf", "sha256": "a" * 64},
        {"unshare": IN_FORCE, "sha256sum": f"{'a' * 64}  /etc/nftables.conf"},
        {
            "other file": {"unshare": IN_FORCE, "sha256sum": f"{'b' * 64}  /etc/nftables.conf"},
            "other rules": {
                "unshare": IN_FORCE.replace("written:0", "written:1"),
                "sha256sum": f"{'a' * 64}  /etc/nftables.conf",
            },
        },
    ),
    "networks_apart": Case(
        {"networks": [APART], "ways": [{"way": "work 10.2.1.11:22", "is_open": False}]},
        {"unshare": "work 10.2.1.11:22 silent\n"},
        {
            "open": {"unshare": "work 10.2.1.11:22 open\n"},
            "refused": {"unshare": "work 10.2.1.11:22 refused\n"},
            "another way": {"unshare": "work 10.2.1.11:23 silent\n"},
        },
    ),
    "user": Case(
        {"name": "op", "authorized_keys": ["ssh-ed25519 A"], "principals": ["op-1"], "sudo": "all"},
        PERSON,
        {
            name: PERSON | wrong
            for name, wrong in (
                ("a second key", {"keys.d": "ssh-ed25519 A\nssh-rsa B\n"}),
                ("no key", {"keys.d": "\n"}),
                ("another principal", {"principals.d": "op-1\nroot\n"}),
                ("no sudo", {"sudo": "User op is not allowed to run sudo on n1.\n"}),
                ("less sudo", {"sudo": MAY_ALL.replace("(ALL : ALL) NOPASSWD: ALL", "(root) NOPASSWD: /bin/ls")}),
                ("more sudo", {"sudo": MAY_ALL + "    (ALL) ALL\n"}),
            )
        },
    ),
    "logins": Case(
        {"keys": ["op", "metalwright"], "principals": []},
        {"keys.d": "metalwright\nop\nlisted\n", "principals.d": "listed\n"},
        {
            "a stranger": {"keys.d": "metalwright\nop\nx\nlisted\n", "principals.d": "listed\n"},
            "a principal": {"keys.d": "op\nlisted\n", "principals.d": "op\nlisted\n"},
        },
    ),
    "audit_rules": Case(
        {"rules": [AUDIT_RULE]},
        {"auditctl": f"audit-rule:{AUDIT_RULE}\naudit-enabled:1\naudit-end\n"},
        {
            "off": {"auditctl": f"audit-rule:{AUDIT_RULE}\naudit-enabled:0\naudit-end\n"},
            "no rule": {"auditctl": "audit-rule:No rules\naudit-enabled:1\naudit-end\n"},
            "another": {"auditctl": f"audit-rule:{AUDIT_RULE}x\naudit-enabled:1\naudit-end\n"},
            "refused": {"auditctl": "audit-refused:Operation not permitted\naudit-end\n"},
        },
    ),
    "sshd": Case(
        {"id": "permitrootlogin", "value": "no"},
        {"sshd": "permitrootlogin no"},
        {"yes": {"sshd": "permitrootlogin yes"}},
    ),
    "cpus": Case(
        {"count": 2, "cores": 32},
        {"lscpu": SOCKETS},
        {
            "one": {"lscpu": SOCKETS.replace('"2"', '"1"')},
            "cores": {"lscpu": SOCKETS.replace('"32"', '"28"')},
            "untold": {"lscpu": lscpu(**{"Socket(s)": "2"})},
        },
    ),
    "memory": Case(
        {"total_gib": 4}, {"awk": str(4 * 1024**2)}, {"less": {"awk": "3145728"}, "more": {"awk": "5242880"}}
    ),
    "drives": Case(
        {"count": 1, "total": 1, "min_bytes": 3000, "max_bytes": 5000, "protocol": "NVMe"},
        {"lsblk": disk()},
        {
            "small": {"lsblk": disk(size=2000)},
            "large": {"lsblk": disk(size=6000)},
            "other": {"lsblk": disk(tran="sata")},
        },
    ),
    "system_disk": Case(
        {"serial": "NV1", "wwn": None},
        {"lsblk": disk()},
        {"another": {"lsblk": disk(serial="NV2")}, "untold": {"lsblk": disk(serial=None)}},
    ),
    "nics": Case(
        {"count": 1, "total": 1, "link": "ethernet", "macs": [MAC], "speed_gbps": 10},
        {"/sys/class/net": f"{MAC} 10000\n"},
        {
            "another": {"/sys/class/net": "aa:00:00:00:00:02 10000\n"},
            "slow": {"/sys/class/net": f"{MAC} 1000\n"},
            "down": {"/sys/class/net": f"{MAC} -1\n"},
        },
    ),
    "gpus": Case(
        {"vendor": "nvidia", "count": 2},
        {"/sys/bus/pci": PCI * 2 + "0x8086 0x060400\n"},
        {"one": {"/sys/bus/pci": PCI}, "three": {"/sys/bus/pci": PCI * 3}},
    ),
    "pcie": Case(
        {"count": 1, "link": "ethernet", "macs": [MAC], "lanes": 16, "generation": 5},
        {"current_link": f"ens1 {MAC} 16 32.0 GT/s PCIe\n"},
        {
            "lanes": {"current_link": f"ens1 {MAC} 8 32.0 GT/s PCIe\n"},
            "generation": {"current_link": f"ens1 {MAC} 16 16.0 GT/s PCIe\n"},
            "untold": {"current_link": f"ens1 {MAC} 0 Unknown\n"},
        },
    ),
    "numa": Case({"nodes": 2}, {"lscpu": SOCKETS}, {"four": {"lscpu": SOCKETS.replace('"2"', '"4"')}}),
    "memory_ecc": Case(
        {"uncorrected": 0},
        {"edac": "/sys/devices/system/edac/mc/mc0/ue_count:0\n"},
        {"errors": {"edac": "/sys/devices/system/edac/mc/mc0/ue_count:1\n"}},
    ),
    "mounts": Case(
        {"root_option": "rw"},
        {"/etc/fstab": "1\n", "--fstab": mounted(ROOT), "findmnt": mounted(ROOT)},
        {
            "read-only": {
                "/etc/fstab": "1\n",
                "--fstab": mounted(ROOT),
                "findmnt": mounted(ROOT | {"options": "ro"}),
            },
            "absent": {
                "/etc/fstab": "2\n",
                "--fstab": mounted(ROOT, ROOT | {"target": "/data"}),
                "findmnt": mounted(ROOT),
            },
            "silent": {"/etc/fstab": "1\n", "--fstab": "", "findmnt": mounted(ROOT)},
        },
    ),
}
CHECKS: dict[str, Callable[..., None]] = {
    name.removeprefix("test_"): function
    for module in (access, hardware, platform, software, system)
    for name, function in vars(module).items()
    if name.startswith("test_")
}
ELSEWHERE = {"clock", "cabling", "isolation"}
"""These ask a clock, or several programs: test_platform.py."""


def passes(kind: str, answers: Answers, rc: int = 0) -> bool:
    """As pytest would see it: everything that a check raises keeps it from a pass."""
    host, check = Host(Node(answers, rc)), CASES[kind].check
    given: dict[str, Callable[[], Any]] = {
        "host": lambda: host,
        "check": lambda: check,
        "unknown": lambda: pytest.skip,
        "sshd": lambda: sshd_settings(host.check_output("sshd -T")),
        "disks": lambda: lsblk_disks(host.check_output(LSBLK)),
    }
    function = CHECKS[kind]
    try:
        function(**{name: given[name]() for name in function.__code__.co_varnames[: function.__code__.co_argcount]})
    except (Exception, pytest.skip.Exception):
        return False
    return True


def test_every_check_that_asks_the_node_one_thing_is_here() -> None:
    assert set(CASES) == set(CHECKS) - ELSEWHERE


@pytest.mark.parametrize("kind", CASES)
def test_the_right_answer_passes(kind: str) -> None:
    assert passes(kind, CASES[kind].good)


@pytest.mark.parametrize(("kind", "wrong"), [(kind, wrong) for kind, case in CASES.items() for wrong in case.bad])
def test_a_wrong_answer_never_passes(kind: str, wrong: str) -> None:
    assert not passes(kind, CASES[kind].bad[wrong])


@pytest.mark.parametrize("kind", CASES)
def test_silence_never_passes(kind: str) -> None:
    assert not passes(kind, dict.fromkeys(CASES[kind].good, ""))
    assert not passes(kind, {})


@pytest.mark.parametrize("kind", sorted(CASES))
@pytest.mark.parametrize("rc", [1, 124, 137, 255])
def test_the_right_words_with_a_wrong_exit_status_never_pass(kind: str, rc: int) -> None:
    assert not passes(kind, CASES[kind].good, rc)


def test_ports_with_other_macs_fail_also_where_no_speed_is_asked() -> None:
    wanted = CASES["nics"].check | {"speed_gbps": None}
    with pytest.raises(AssertionError, match="ports"):
        hardware.test_nics(Host(Node(CASES["nics"].bad["another"])), wanted, pytest.skip)


def test_one_port_does_not_stand_in_for_that_of_another_role() -> None:
    wanted = CASES["nics"].check | {"macs": [], "speed_gbps": None, "total": 2}
    with pytest.raises(AssertionError, match="1 physical ports"):
        hardware.test_nics(Host(Node(CASES["nics"].good)), wanted, pytest.skip)
    with pytest.raises(AssertionError, match="all roles together need 2 drives"):
        hardware.test_drives(CASES["drives"].check | {"total": 2}, lsblk_disks(disk()))


INFINIBAND = {"count": 2, "total": 2, "link": "infiniband", "macs": [], "speed_gbps": 400}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("InfiniBand 4: ACTIVE 400 Gb/sec (4X NDR)\n" * 2, None),
        ("InfiniBand 4: ACTIVE 400 Gb/sec (4X NDR)\nEthernet 4: ACTIVE 400 Gb/sec (4X NDR)\n", "1 InfiniBand ports"),
        ("InfiniBand 4: ACTIVE 400 Gb/sec (4X NDR)\nInfiniBand 4: ACTIVE 200 Gb/sec (2X NDR)\n", "speeds"),
        ("InfiniBand 4: ACTIVE 400 Gb/sec (4X NDR)\nInfiniBand 1: DOWN 10 Gb/sec (4X SDR)\n", "tells no speed"),
        ("InfiniBand 4: ACTIVE 400 Gb/sec (4X NDR)\nInfiniBand\n", "tells no speed"),
        ("", "0 InfiniBand ports"),
    ],
)
def test_infiniband_ports_are_counted_by_their_kind(answer: str, said: str | None) -> None:
    node = Host(Node({"/sys/class/infiniband": answer}))
    if said is None:
        hardware.test_nics(node, INFINIBAND, pytest.skip)
        return
    with pytest.raises((AssertionError, pytest.skip.Exception), match=said):
        hardware.test_nics(node, INFINIBAND, pytest.skip)
