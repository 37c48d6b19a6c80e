"""A blueprint, a node and a report that agree; tests change one thing."""

from __future__ import annotations

from typing import Any

from metalwright.model.blueprint import Blueprint
from metalwright.model.rack import Node
from metalwright.model.report import (
    BmcFacts,
    Cpu,
    Dimm,
    Drive,
    Gpu,
    HardwareReport,
    MemoryFacts,
    Nic,
    NicPort,
    Psu,
    SystemFacts,
)

UUID = "b8f93328-bb99-4c27-4ab9-573fd3320e71"
BMC_MAC = "7c:c2:55:4b:fd:ff"
TB = 10**12

BLUEPRINT = Blueprint.model_validate(
    {
        "schema": 1,
        "name": "gpu-h100-8x",
        "version": "1.0.0",
        "class": {"role": "training", "owner": "infra", "why": "test"},
        "hardware": {
            "system": {"manufacturer": "Supermicro", "models": ["SYS-821GE-TNHR"]},
            "cpus": {"count": 2, "models": ["Xeon Platinum 8462Y+"], "cores": 32},
            "memory": {"total_gib": 2048, "dimms": 32},
            "gpus": {"count": 8, "vendor": "nvidia", "model": "H100 SXM 80GB", "memory_gib": 80},
            "nics": [
                {"role": "fabric", "count": 8, "speed_gbps": 400, "link": "infiniband"},
                {"role": "host", "count": 2, "speed_gbps": 10, "link": "ethernet"},
            ],
            "drives": [
                {"role": "system", "count": 1, "min_bytes": 900 * 10**9, "protocol": "NVMe"},
                {"role": "scratch", "count": 8, "min_bytes": 7 * TB, "protocol": "NVMe"},
            ],
            "psus": {"count": 6, "watts": 3000},
        },
        "image": {"name": "debian-12", "version": "1", "file_sha256": "ab" * 32},
        "acceptance": [{"test": "boot", "record": True}],
    }
)

NODE = Node.model_validate(
    {
        "name": "gpu-a01-u07",
        "serial": "E282584J5282879",
        "uuid": UUID,
        "bmc_mac": BMC_MAC,
        "blueprint": "gpu-h100-8x@1.0.0",
    }
)

REPORT = HardwareReport(
    bmc=BmcFacts(address="10.20.0.11", macs=(BMC_MAC,)),
    system=SystemFacts(id="1", manufacturer="Supermicro", model="SYS-821GE-TNHR", serial="E282584J5282879", uuid=UUID),
    cpus=tuple(Cpu(slot=f"CPU {n}", model="Intel(R) Xeon(R) Platinum 8462Y+", cores=32) for n in (1, 2)),
    memory=MemoryFacts(
        total_gib=2048, dimms=tuple(Dimm(slot=f"P1-DIMM{n}", size_gib=64, part_number="M321") for n in range(1, 33))
    ),
    gpus=tuple(
        Gpu(slot=f"SXM{n}", manufacturer="NVIDIA", model="NVIDIA H100 SXM 80GB", memory_gib=80) for n in range(1, 9)
    ),
    nics=(
        *(
            Nic(slot=f"Slot {n}", model="CX7", ports=(NicPort(name="1", speed_gbps=400, link="infiniband"),))
            for n in range(8)
        ),
        Nic(
            slot="AIOM",
            model="X550",
            ports=tuple(
                NicPort(name=str(n), mac=f"7c:c2:55:00:00:0{n}", speed_gbps=10, link="ethernet") for n in (1, 2)
            ),
        ),
    ),
    drives=(
        Drive(slot="M.2", serial="SYS1", model="MZ1L2", protocol="NVMe", size_bytes=960 * 10**9),
        *(
            Drive(slot=f"Bay {n}", serial=f"SCR{n}", model="MZQL2", protocol="NVMe", size_bytes=7_681_501_126_656)
            for n in range(8)
        ),
    ),
    psus=tuple(Psu(slot=f"PSU{n}", model="PWS-3K06G", watts=3000) for n in range(1, 7)),
)


def report_with(**changes: Any) -> HardwareReport:
    return REPORT.model_copy(update=changes)


def node_with(**changes: Any) -> Node:
    return Node.model_validate({**NODE.model_dump(), **changes})


def blueprint_with(**sections: Any) -> Blueprint:
    """The blueprint with other hardware sections."""
    values = BLUEPRINT.model_dump(by_alias=True)
    return Blueprint.model_validate({**values, "hardware": {**values["hardware"], **sections}})
