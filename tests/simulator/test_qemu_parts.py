"""The parts of the QEMU back end that need no QEMU."""

from __future__ import annotations

import asyncio
import json
import socket
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.errors import LabError
from metalwright.simulator.qemu.command import Start, command_line
from metalwright.simulator.qemu.console import BootWitness
from metalwright.simulator.qemu.qmp import Qmp
from metalwright.simulator.spec import DiskSpec, ForwardSpec, MachineSpec, NicSpec

LOADING = b'BdsDxe: loading Boot0002 "UEFI QEMU NVMe Ctrl SYS1 1" from PciRoot(0x0)/Pci(0x2,0x0)\r\n'
DISK = b'BdsDxe: starting Boot0002 "UEFI QEMU NVMe Ctrl SYS1 1" from PciRoot(0x0)/Pci(0x2,0x0)\r\n'
DVD = b'BdsDxe: starting Boot0001 "UEFI QEMU DVD-ROM QM00001 " from PciRoot(0x0)\r\n'


def start(devices: tuple[str, ...], media: Path | None = None, **port: str) -> list[str]:
    forwards = (ForwardSpec(listen="127.77.1.11:2222"),)
    spec = MachineSpec(
        serial="A,B",
        disks=(DiskSpec(serial="SYS1", size_bytes=1), DiskSpec(serial="OLD", size_bytes=1, protocol="SATA")),
        nics=(NicSpec(mac="52:54:00:00:00:01", guest="10.1.0.11", forwards=forwards, **port),),
    )
    return command_line(
        Start(
            spec=spec,
            qemu="qemu",
            accelerator="tcg",
            code=Path("/code"),
            variables=Path("/vars"),
            disks={"SYS1": Path("/m/SYS1.raw"), "OLD": Path("/m/O,LD.raw")},
            console=Path("/m/console,log"),
            devices=devices,
            media=media,
            serial_fd=7,
            qmp_fd=8,
        )
    )


def test_boot_indexes_follow_the_plan_and_others_have_none() -> None:
    argv = start(("cd", "disk:SYS1"), Path("/m/cd.iso"))
    assert "ide-cd,id=cd0,bus=ide.0,bootindex=1,drive=cdmedium" in argv
    assert "nvme,drive=disk0,serial=SYS1,bootindex=2" in argv
    assert "ide-hd,bus=ide.2,drive=disk1,serial=OLD" in argv


def test_an_empty_drive_is_there_without_a_medium() -> None:
    assert "ide-cd,id=cd0,bus=ide.0" in start(("disk:SYS1",))


def test_commas_cannot_add_options() -> None:
    argv = start(())
    assert any(",serial=A,,B," in argument for argument in argv)
    nodes = [json.loads(argument) for argument in argv if argument.startswith("{")]
    assert [node["file"]["filename"] for node in nodes] == ["/m/SYS1.raw", "/m/O,LD.raw"]
    assert any("logfile=/m/console,,log" in argument for argument in argv)


def test_forwards_lead_to_the_guests_own_address() -> None:
    assert any("hostfwd=tcp:127.77.1.11:2222-10.1.0.11:22" in argument for argument in start(()))


def test_a_port_boots_by_pxe_only_when_it_is_told_to_and_then_first() -> None:
    port: dict[str, Any] = {"tftp_root": "/t,ftp", "bootfile": "a.efi"}
    argv, without = start(("pxe", "disk:SYS1"), **port), start(("disk:SYS1",), **port)
    assert any(item.endswith("mac=52:54:00:00:00:01,romfile=,bootindex=1") for item in argv)
    assert any(item.endswith(",tftp=/t,,ftp,bootfile=a.efi") for item in argv)
    assert "name=opt/org.tianocore/IPv4PXESupport,string=no" not in argv
    assert any(item.endswith("mac=52:54:00:00:00:01,romfile=") for item in without)
    assert "name=opt/org.tianocore/IPv4PXESupport,string=no" in without


def test_a_port_can_be_on_a_tap_device_in_place_of_the_user_network() -> None:
    argv = start(("pxe",), tap="tap7")
    assert "tap,id=net0,ifname=tap7,script=no,downscript=no" in argv
    assert not any(item.startswith("user,") for item in argv)


def test_witness_knows_boots_over_the_network() -> None:
    http = b'BdsDxe: starting Boot4D57 "metalwright HTTP boot" from Uri(http://x/boot.efi)\r\n'
    pxe = b'BdsDxe: starting Boot0003 "UEFI PXEv4 (MAC:525400000001)" from PciRoot(0x0)\r\n'
    assert BootWitness(["SYS1"]).feed(http) == ["http"]
    assert BootWitness(["SYS1"]).feed(pxe) == ["pxe"]


def test_witness_names_the_device_that_was_started_not_the_one_that_was_loaded() -> None:
    witness = BootWitness(["SYS", "SYS1"])
    assert witness.feed(LOADING) == []
    assert witness.feed(DISK) == ["disk:SYS1"]


def test_witness_believes_the_console_only_until_the_system_has_started() -> None:
    witness = BootWitness(["SYS1"])
    assert witness.feed(DVD + DISK) == ["cd"]
    assert witness.feed(b'BdsDxe: failed to start Boot0001 "x": Not Found\r\n' + DISK) == ["disk:SYS1"]


def test_witness_reports_an_empty_machine() -> None:
    assert BootWitness([]).feed(b"BdsDxe: No bootable option or device was found.\r\n") == [None]
    shell = b'BdsDxe: starting Boot0004 "EFI Internal Shell" from Fv(7CB8BDC9)\r\n'
    assert BootWitness(["SYS1"]).feed(shell) == [None]


@settings(deadline=None)
@given(st.lists(st.integers(1, len(LOADING + DVD) - 1), max_size=6))
def test_witness_does_not_depend_on_how_the_console_is_cut(cuts: list[int]) -> None:
    text = LOADING + DVD
    edges = [0, *sorted(cuts), len(text)]
    witness = BootWitness(["SYS1"])
    seen = [device for a, b in pairwise(edges) for device in witness.feed(text[a:b])]
    assert seen == ["cd"]


async def serve_qmp(end: socket.socket, answers: list[Any]) -> None:
    reader, writer = await asyncio.open_connection(sock=end)
    writer.write(b'{"QMP": {}}\n')
    for answer in answers:
        request = json.loads(await reader.readline())
        writer.write(json.dumps({"event": "STOP", "data": {"n": 1}}).encode() + b"\n")
        writer.write(json.dumps({**answer, "id": request["id"]}).encode() + b"\n")
    await writer.drain()
    writer.close()


async def test_qmp_returns_values_raises_refusals_and_passes_events_on() -> None:
    ours, theirs = socket.socketpair()
    events: list[str] = []
    refusal = {"error": {"class": "GenericError", "desc": "no such device"}}
    server = asyncio.create_task(serve_qmp(theirs, [{"return": {}}, {"return": {"status": "running"}}, refusal]))
    qmp = Qmp("lab-1", lambda name, _data: events.append(name))
    await qmp.connect(ours)
    assert await qmp.execute("query-status") == {"status": "running"}
    with pytest.raises(LabError, match="no such device"):
        await qmp.execute("eject", id="x")
    with pytest.raises(LabError, match="does not answer"):
        await qmp.execute("query-status")
    assert events == ["STOP"] * 3
    await qmp.close()
    await server
