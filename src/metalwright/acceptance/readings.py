"""What command outputs of a Linux node say (pure). Absent is ``None``, never a default."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from metalwright.model.audit_rules import our_rules
from metalwright.model.base import Frozen, normal_mac

LSBLK = "lsblk --json --bytes --output NAME,TYPE,SIZE,TRAN,SERIAL,WWN,RO,RM,MOUNTPOINTS"
"""The command whose output :func:`lsblk_disks` reads."""


DRIVER_GPUS = {"nvidia": "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits"}
"""By maker, the command whose output :func:`driver_gpus` reads; memory is in MiB."""


class CpuSockets(Frozen):
    """Sockets and cores of one socket."""

    count: int | None
    cores: int | None


class SeenDisk(Frozen):
    """One whole disk; ``holds_root`` when the root file system is on it."""

    name: str
    size_bytes: int
    protocol: str | None
    serial: str | None
    wwn: str | None
    is_removable: bool
    holds_root: bool


def addresses_of(ip_json: str) -> dict[str, tuple[str, ...]]:
    """Interface → ``address/length`` of its global addresses, from ``ip -json address show``."""
    return {
        item["ifname"]: tuple(
            f"{info['local']}/{info['prefixlen']}" for info in item.get("addr_info", []) if info["scope"] == "global"
        )
        for item in json.loads(ip_json)
    }


def routers_of(ip_json: str) -> tuple[str, ...]:
    """Where packets of the routes are sent, from ``ip -json route show``; a route without a router has none."""
    return tuple(item.get("gateway", "") for item in json.loads(ip_json))


def port_names(ip_json: str, macs: Sequence[str], vlan: int | None) -> tuple[str, ...]:
    """Interfaces that may carry a network of these ports, from ``ip -json -details link show``.

    Untagged: the ports themselves and the bonds or bridges over them. Tagged: the VLAN interfaces over those.
    """
    interfaces = json.loads(ip_json)
    names = {item["ifname"] for item in interfaces if _permanent_mac(item) in macs}
    names |= {item["master"] for item in interfaces if item["ifname"] in names and "master" in item}
    if vlan is None:
        return tuple(sorted(names))
    return tuple(sorted(item["ifname"] for item in interfaces if item.get("link") in names and _vlan_id(item) == vlan))


def _permanent_mac(item: Mapping[str, Any]) -> str | None:
    """A bonded port shows the bond's address; its own is the permanent one."""
    in_bond = item.get("linkinfo", {}).get("info_slave_data", {}).get("perm_hwaddr")
    mac = item.get("permaddr") or in_bond or item.get("address")
    return str(mac) if mac else None


def _vlan_id(item: Mapping[str, Any]) -> int | None:
    data = item.get("linkinfo", {})
    return data.get("info_data", {}).get("id") if data.get("info_kind") == "vlan" else None


def sshd_settings(text: str) -> dict[str, str]:
    """Lower-case keyword → value, from ``sshd -T``."""
    return {key.lower(): value for key, _, value in (line.partition(" ") for line in text.splitlines()) if key}


def sudo_fault(listed: str, wanted: str | Sequence[str]) -> str | None:
    """What differs from ``wanted`` (``all``, ``none`` or commands), from ``sudo --list``; None when it is just that."""
    head, _, rules = listed.partition(" may run the following commands on ")
    found = [line.strip().replace("\\", "") for line in rules.splitlines()[1:] if line.strip()] if rules else []
    if not rules and "is not allowed to run sudo" not in head:
        return f"sudo tells nothing: {head[:200]!r}"
    if wanted == "none":
        return f"sudo lets them do {'; '.join(found)}" if found else None
    right = ["(ALL : ALL) NOPASSWD: ALL"] if wanted == "all" else [f"(root) NOPASSWD: {', '.join(wanted)}"]
    return None if found == right else f"sudo lets them do {'; '.join(found) or 'nothing'}, not {right[0]}"


def exposed_ports(ss_text: str) -> set[int]:
    """TCP ports that listen beyond loopback, from ``ss -Hntl``."""
    exposed = set()
    for line in ss_text.splitlines():
        words = line.split()
        address, _, port = words[3].rpartition(":")
        bare = address.partition("%")[0].strip("[]")
        if not (bare.startswith("127.") or bare in ("::1", "::ffff:127.0.0.1")):
            exposed.add(int(port))
    return exposed


FIREWALL_TABLE = "metalwright"
INPUT_POLICY = "nft --json list chains inet"
"""The command whose output :func:`input_policy` reads."""


def input_policy(nft_json: str) -> str | None:
    """What our table does with packets to the node that no rule names, ``drop`` or ``accept``; None without it."""
    chains = [item["chain"] for item in json.loads(nft_json)["nftables"] if "chain" in item]
    ours = [chain for chain in chains if (chain["table"], chain.get("hook")) == (FIREWALL_TABLE, "input")]
    return ours[0]["policy"] if ours else None


LOADED_RULES = (
    'own="nft --stateless list table inet metalwright"; now=$($own 2>/dev/null) || now=none; '
    'load="[ ! -e /etc/nftables.conf ] || nft --file /etc/nftables.conf || exit"; '
    "sum() { sha256sum | cut -c -64; }; unshare --net true && { "
    'file=$(unshare --net sh -c "$load; $own 2>/dev/null || echo none" 2>/dev/null) || file=broken; '
    'echo "rules-loaded:$(echo "$now" | sum)"; echo "rules-written:$(echo "$file" | sum)"; }'
)
"""Digests of our table as it is loaded, and as nft makes it of the file, for :func:`rules_in_force`."""


def rules_in_force(text: str) -> bool | None:
    """Whether the loaded rules are those of the file, from :data:`LOADED_RULES`; None when the node does not tell."""
    found = dict(re.findall(r"^rules-(loaded|written):([0-9a-f]{64})$", text, re.MULTILINE))
    return found["loaded"] == found["written"] if len(found) == 2 else None


AUDIT_STATE = (
    'said=$(auditctl -l 2>&1) && echo "$said" | sed "s/^/audit-rule:/" || echo "audit-refused:$said"; '
    'auditctl -s 2>/dev/null | sed -n "s/^enabled /audit-enabled:/p"; echo audit-end'
)
"""The command whose output :func:`audit_state` reads."""


class AuditState(Frozen):
    """``rules`` of ours that the kernel has; ``is_enabled``: it heeds them. ``refusal``: why it does not tell."""

    rules: tuple[str, ...] = ()
    is_enabled: bool = False
    refusal: str | None = None


def audit_state(text: str) -> AuditState | None:
    """From :data:`AUDIT_STATE`; None when that did not run to its end."""
    if "audit-end" not in text.splitlines():
        return None
    refused = re.findall("^audit-refused:(.*)$", text, re.MULTILINE)
    if refused:
        return AuditState(refusal=refused[0] or "auditctl fails without a word")
    rules = our_rules("\n".join(re.findall("^audit-rule:(.*)$", text, re.MULTILINE)))
    is_enabled = bool(re.search("^audit-enabled:[12]$", text, re.MULTILINE))
    return AuditState(rules=rules, is_enabled=is_enabled)


def chrony_servers(sources_csv: str) -> set[str]:
    """Servers as configured, from ``chronyc -N -c sources``."""
    return {line.split(",")[2] for line in sources_csv.splitlines() if line.startswith(("^", "="))}


def unit_fault(show_text: str) -> str | None:
    """Why a unit is not well, from ``systemctl show``; ``None`` when it is.

    A oneshot unit is well when it succeeded, also when it is no longer active, and a timer that waits;
    ``activating`` is not yet well. One that remains after its exit and is inactive never ran, or was stopped: its
    result says ``success`` all the same.
    """
    found = dict(line.partition("=")[::2] for line in show_text.splitlines() if "=" in line)
    state = f"{found.get('ActiveState')}/{found.get('SubState')}, result {found.get('Result')}"
    if found.get("LoadState") != "loaded":
        return f"not loaded ({found.get('LoadState')})"
    if found.get("Result") != "success":
        return state
    is_over = found.get("ActiveState") == "inactive" and found.get("RemainAfterExit") != "yes"
    if found.get("Type") == "oneshot" and (is_over or found.get("ActiveState") == "active"):
        return None
    if found.get("ActiveState") != "active" or found.get("SubState") not in ("running", "exited", "waiting"):
        return state
    return None


def cpu_sockets(lscpu_json: str) -> CpuSockets:
    """From ``lscpu --json``; nested or flat."""
    found = {key.strip().rstrip(":"): value for key, value in _lscpu_fields(json.loads(lscpu_json)["lscpu"])}
    return CpuSockets(count=_number(found.get("Socket(s)")), cores=_number(found.get("Core(s) per socket")))


def _lscpu_fields(items: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    fields = []
    for item in items:
        fields.append((item["field"], item.get("data") or ""))
        fields += _lscpu_fields(item.get("children", []))
    return fields


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def lsblk_disks(lsblk_json: str) -> tuple[SeenDisk, ...]:
    """Whole disks that can be written, from ``lsblk --json --bytes``."""
    return tuple(
        SeenDisk(
            name=item["name"],
            size_bytes=item["size"],
            protocol=_protocol(item),
            serial=(item.get("serial") or "").strip() or None,
            wwn=item.get("wwn"),
            is_removable=bool(item.get("rm")),
            holds_root=_holds_root(item),
        )
        for item in json.loads(lsblk_json)["blockdevices"]
        if item["type"] == "disk" and not item.get("ro") and item["size"] > 0
    )


def _protocol(item: Mapping[str, Any]) -> str | None:
    transport = item.get("tran")
    if transport is None and item["name"].startswith("vd"):
        transport = "virtio"
    return {"nvme": "NVMe", "sata": "SATA", "sas": "SAS", "virtio": "VIRTIO"}.get(transport or "")


def _holds_root(item: Mapping[str, Any]) -> bool:
    return "/" in (item.get("mountpoints") or []) or any(_holds_root(child) for child in item.get("children", []))


def disks_of_role(disks: Sequence[SeenDisk], group: Mapping[str, Any]) -> tuple[SeenDisk, ...]:
    """The fixed disks that satisfy a drive group of a blueprint (``min_bytes``, ``max_bytes``, ``protocol``)."""
    return tuple(
        disk
        for disk in disks
        if not disk.is_removable
        and disk.size_bytes >= group["min_bytes"]
        and (group["max_bytes"] is None or disk.size_bytes <= group["max_bytes"])
        and (group["protocol"] is None or disk.protocol == group["protocol"])
    )


def physical_ports(text: str) -> dict[str, float | None]:
    """MAC → speed in Gbit/s (``None``: not told), from lines ``MAC SPEED_IN_MBPS``."""
    found: dict[str, float | None] = {}
    for line in text.splitlines():
        mac, _, speed = line.strip().partition(" ")
        if re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", mac):
            found[normal_mac(mac)] = int(speed) / 1000 if speed.isdigit() and int(speed) > 0 else None
    return found


def infiniband_ports(text: str) -> tuple[float | None, ...]:
    """Gbit/s of every InfiniBand port (``None``: its link is not up), from lines ``InfiniBand 4: ACTIVE 400 Gb/sec …``.

    Ports that carry Ethernet are left out.
    """
    lines = [line for line in text.splitlines() if line.split()[:1] == ["InfiniBand"]]
    found = [re.match(r"InfiniBand \d+: ACTIVE (\d+(?:\.\d+)?) Gb/sec", line) for line in lines]
    return tuple(float(match[1]) if match else None for match in found)


def driver_gpus(csv_text: str) -> tuple[tuple[str, float], ...]:
    """Name and memory in GiB of each GPU, from lines ``NAME, MIB``; what is no such line is left out."""
    lines = (line.rpartition(",") for line in csv_text.splitlines())
    return tuple((name.strip(), float(mib) / 1024) for name, _, mib in lines if name and mib.strip().isdigit())


def rdma_devices(names_text: str) -> tuple[str, ...]:
    """RDMA devices in the order of their numbers, from a listing of ``/sys/class/infiniband``."""
    return tuple(sorted(names_text.split(), key=lambda name: [int(part) for part in re.findall(r"\d+", name)]))
