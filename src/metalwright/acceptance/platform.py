"""What a Linux node tells of its board, clock, mounts and neighbours (pure). Absent is ``None`` or empty."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metalwright.model.base import Frozen, normal_mac

PCIE_LINKS = (
    "for d in /sys/class/net/*/device /sys/class/infiniband/*/device; do"
    " [ -e $d/current_link_width ] || continue; n=${d%/device};"
    ' echo "${n##*/} $(cat $n/address 2>&1 | tr -d " ") $(cat $d/current_link_width)'
    ' $(cat $d/current_link_speed)"; done'
)
"""The command whose output :func:`pcie_links` reads."""

EDAC = "grep -H . /sys/devices/system/edac/mc/mc*/ue_count"
MOUNTS = "findmnt --json --list --output TARGET,SOURCE,FSTYPE,OPTIONS"
FSTAB_ENTRIES = "cat /etc/fstab 2>/dev/null | grep -cvE '^[[:space:]]*(#|$)'"
"""How many lines of it say something; findmnt prints nothing where there is none, and fails."""
FSTAB = "findmnt --json --list --fstab --output TARGET,FSTYPE,OPTIONS"
TRACKING = "chronyc -c tracking"
LLDP = "lldpcli -f json show neighbors"

_GENERATION_OF_GTS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}


class PcieLink(Frozen):
    """The link of one adapter as it is now; ``name`` of its interface or RDMA device, ``mac`` where it has one."""

    name: str
    mac: str | None
    lanes: int | None
    generation: int | None


class Tracking(Frozen):
    """What chrony says of the clock. ``error_s`` bounds how far it can be from true time."""

    is_synchronised: bool
    server: str | None
    error_s: float | None


class Mount(Frozen):
    """One mounted file system."""

    target: str
    file_system: str
    options: frozenset[str]


def pcie_links(text: str) -> tuple[PcieLink, ...]:
    """From lines ``NAME ADDRESS LANES SPEED GT/s …``."""
    links = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4:
            mac = normal_mac(words[1]) if re.fullmatch(r"(?i)([0-9a-f]{2}:){5}[0-9a-f]{2}", words[1]) else None
            lanes = int(words[2]) if words[2].isdecimal() and int(words[2]) > 0 else None
            links.append(PcieLink(name=words[0], mac=mac, lanes=lanes, generation=_generation(words[3])))
    return tuple(links)


def _generation(gts: str) -> int | None:
    try:
        return _GENERATION_OF_GTS.get(float(gts))
    except ValueError:
        return None


def numa_nodes(lscpu_json: str) -> int | None:
    """From ``lscpu --json``."""
    found = re.search(r'"field"\s*:\s*"NUMA node\(s\):"\s*,\s*"data"\s*:\s*"(\d+)"', lscpu_json)
    return int(found[1]) if found else None


def uncorrected_errors(edac_text: str) -> dict[str, int]:
    """Memory controller → uncorrected errors since the boot, from lines ``…/mcN/ue_count:COUNT``."""
    return {found[1]: int(found[2]) for found in re.finditer(r"/(mc\d+)/ue_count:(\d+)", edac_text)}


def mounts(findmnt_json: str) -> tuple[Mount, ...]:
    """From ``findmnt --json --list``.

    Raises:
        ValueError: it is no such document.
    """
    try:
        rows = json.loads(findmnt_json)["filesystems"]
        return tuple(
            Mount(
                target=row["target"],
                file_system=row["fstype"] or "",
                options=frozenset((row["options"] or "").split(",")),
            )
            for row in rows
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"findmnt printed no list of file systems: {findmnt_json[:200]!r}") from error


def missing_mounts(wanted: Sequence[Mount], mounted: Sequence[Mount]) -> tuple[str, ...]:
    """What of ``/etc/fstab`` is not mounted; swap and what is mounted on demand are left out."""
    there = {mount.target for mount in mounted}
    return tuple(
        mount.target
        for mount in wanted
        if mount.target.startswith("/")
        and not mount.options & {"noauto", "x-systemd.automount", "nofail"}
        and mount.target not in there
    )


def tracking(csv_text: str) -> Tracking | None:
    """From ``chronyc -c tracking``: 14 fields; ``None`` when there are others."""
    fields = csv_text.strip().split(",")
    if len(fields) != 14:
        return None
    try:
        error_s = abs(float(fields[4])) + float(fields[10]) / 2 + float(fields[11])
    except ValueError:
        return None
    is_synchronised = fields[13] != "Not synchronised" and fields[0] not in ("00000000", "7F7F0101")
    return Tracking(is_synchronised=is_synchronised, server=fields[1] or None, error_s=error_s)


def lldp_neighbours(lldp_json: str) -> dict[str, tuple[str, str | None]]:
    """Interface → system name (else id) and port of the switch at its other end.

    lldpcli writes a list or, of one, the thing itself; a neighbour that tells its name stands under that name.

    Raises:
        ValueError: it is no JSON.
    """
    found: dict[str, tuple[str, str | None]] = {}
    document = json.loads(lldp_json)
    for group in _each(document.get("lldp") if isinstance(document, Mapping) else None):
        for interfaces in _each(group.get("interface")):
            for name, seen in interfaces.items():
                if isinstance(seen, Mapping) and (system := _system_of(seen)) is not None:
                    found[name] = (system, _port_of(seen))
    return found


def _each(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, Mapping))


def _system_of(seen: Mapping[str, Any]) -> str | None:
    chassis = next(_each(seen.get("chassis")), {})
    if "id" in chassis and isinstance(chassis["id"], Mapping) and "value" in chassis["id"]:
        return str(chassis["id"]["value"])
    return next((str(name) for name in chassis), None)


def _port_of(seen: Mapping[str, Any]) -> str | None:
    port = next(_each(seen.get("port")), {})
    identity = port.get("id")
    value = identity.get("value") if isinstance(identity, Mapping) else None
    return str(value) if value is not None else None


def is_neighbour(wanted: str, system: str, port: str | None) -> bool:
    """Whether a neighbour is the one that ``cabling`` names: ``leaf-1`` or ``leaf-1:Ethernet1/5``, domains apart."""
    name, _, wanted_port = wanted.partition(":")
    if system.partition(".")[0].lower() != name.partition(".")[0].lower():
        return False
    return not wanted_port or wanted_port == port


def infiniband_neighbour(smpquery_text: str) -> str | None:
    """Name of what is at the other end, from ``smpquery nodedesc``: ``MF0;leaf-1:MQM9790/U1`` is ``leaf-1``."""
    found = re.search(r"Node Description:\.*\s*(.+)", smpquery_text)
    if found is None:
        return None
    text = found[1].strip()
    managed = re.fullmatch(r"[^;]*;([^:]+):.*", text)
    return managed[1] if managed else text
