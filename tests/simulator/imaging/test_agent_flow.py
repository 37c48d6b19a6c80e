"""The deploy agent against the real boot server: what ends up on the disks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.unit.imaging.members import PAIRS, unpack

from metalwright.errors import GrantError
from metalwright.imaging.agent.signatures import probe_content
from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.model.agent_protocol import DiskRule, ExpectedIdentity, FailureCode
from metalwright.model.deployment import DeploymentState

MIB = 1 << 20


def content(disk: dict[str, Any]) -> bytes:
    return Path(disk["path"]).read_bytes()


def read_root(disk: dict[str, Any], path: str) -> str:
    argv = ["debugfs", "-R", f"cat {path}", f"{disk['path']}?offset={2 * MIB}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def root_size_bytes(disk: dict[str, Any]) -> int:
    argv = ["dumpe2fs", "-h", f"{disk['path']}?offset={2 * MIB}"]
    header = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    fields = dict(line.split(":", 1) for line in header.splitlines() if ":" in line)
    return int(fields["Block count"]) * int(fields["Block size"])


def partition_table_is_valid(disk: dict[str, Any]) -> bool:
    return subprocess.run(["sfdisk", "--verify", disk["path"]], check=False, capture_output=True).returncode == 0


def overwrite(disk: dict[str, Any], offset: int, data: bytes) -> None:
    with Path(disk["path"]).open("r+b") as file:
        file.seek(offset)
        file.write(data)


async def test_blank_disk_gets_the_image_the_seed_the_host_key_and_the_stamp(bench: Any) -> None:
    disk = bench.add_disk("system")
    run, deployment = await bench.deploy(disk)
    assert run.exit_code == 0, run.console
    assert deployment.state is DeploymentState.DONE
    assert deployment.lease_epoch == 7
    done = deployment.done
    assert done is not None
    assert done.read_back_sha256 == done.content_sha256 == bench.image.content_sha256
    assert done.disk.serial == "S-system"
    assert {"fetch", "write", "read-back", "seed"} <= set(done.seconds)
    assert read_root(disk, "/etc/hostname") == "lab-1\n"
    assert "127.0.1.1\tlab-1.example.test lab-1" in read_root(disk, "/etc/hosts")
    assert read_root(disk, "/root/.ssh/authorized_keys") == "ssh-ed25519 AAAA ops\n"
    assert read_root(disk, "/etc/ssh/ssh_host_ed25519_key.pub").strip() == done.ssh_host_key
    stamp = bench.stamp().to_json()
    assert decode_stamp(read_stamp_area(disk["path"])) == stamp
    assert json.loads(read_root(disk, "/etc/metalwright/stamp.json")) == stamp
    assert done.disk.content.state == "ours"
    assert done.disk.content.stamp == bench.stamp()


async def test_root_file_system_grows_to_the_end_of_the_disk(bench: Any) -> None:
    disk = bench.add_disk("system", 40 * MIB)
    run, _ = await bench.deploy(disk)
    assert run.exit_code == 0, run.console
    assert 37 * MIB < root_size_bytes(disk) <= 38 * MIB
    assert partition_table_is_valid(disk)


@pytest.mark.parametrize(
    ("identity", "named"),
    [
        ({"serial": "SN-9999", "uuid": "4c4c4544-0042-3310-8052-b4c04f4e3432", "macs": []}, "serial"),
        ({"serial": "SN-1001", "uuid": "00000000-0000-0000-0000-000000000001", "macs": []}, "uuid"),
        ({"serial": None, "uuid": None, "macs": []}, "serial, uuid"),
    ],
)
async def test_another_machine_is_never_written(bench: Any, identity: dict[str, Any], named: str) -> None:
    disk = bench.add_disk("system", fill=b"precious")
    before = content(disk)
    run, deployment = await bench.deploy(disk, identity=identity, overwrite=True)
    assert run.exit_code == 1
    assert deployment.state is DeploymentState.FAILED
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.IDENTITY
    assert f"{named} differs" in deployment.failure.what
    assert "SN-1001" in str(deployment.failure.expected) or named == "uuid"
    assert not deployment.failure.wrote
    assert content(disk) == before


async def test_uuid_in_the_other_byte_order_is_the_same_machine(bench: Any) -> None:
    swapped = {"serial": "SN-1001", "uuid": "44454c4c-4200-1033-8052-b4c04f4e3432", "macs": []}
    run, deployment = await bench.deploy(bench.add_disk("system"), identity=swapped)
    assert run.exit_code == 0, run.console
    assert deployment.state is DeploymentState.DONE


async def test_wrong_nonce_is_never_written(bench: Any) -> None:
    disk = bench.add_disk("system")
    prepared = bench.prepare()
    run = await bench.boot(bench.config(prepared, nonce="0" * 64), disk)
    assert run.exit_code == 1
    assert bench.deployment(prepared).failure.code is FailureCode.NONCE
    assert not any(content(disk))


async def test_im_07_only_the_named_disk_is_written(bench: Any) -> None:
    """Only the declared system disk is written; every other disk keeps its bytes."""
    data = bench.add_disk("data", fill=b"data" * 1000)
    system = bench.add_disk("system")
    other = bench.add_disk("other")
    before = content(data), content(other)
    run, deployment = await bench.deploy(data, system, other)
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert deployment.done.disk.path == system["path"]
    assert (content(data), content(other)) == before
    assert any(content(system))


async def test_disk_is_known_by_wwn(bench: Any) -> None:
    first = bench.add_disk("first", wwn="eui.01")
    second = bench.add_disk("second", wwn="eui.02")
    run, deployment = await bench.deploy(first, second, disk=DiskRule(role="system", wwn="eui.02"))
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert deployment.done.disk.path == second["path"]
    assert not any(content(first))


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (DiskRule(role="system", serial="NOPE"), FailureCode.NO_DISK),
        (DiskRule(role="system", protocol="SAS"), FailureCode.NO_DISK),
        (DiskRule(role="system", min_bytes=1), FailureCode.AMBIGUOUS_DISK),
        (DiskRule(role="system", serial="S-first", min_bytes=1 << 40), FailureCode.DISK_TOO_SMALL),
        (DiskRule(role="system", serial="S-first", max_bytes=1), FailureCode.NO_DISK),
    ],
)
async def test_im_02_no_disk_is_written_when_the_rule_names_not_exactly_one(
    bench: Any, rule: DiskRule, code: FailureCode
) -> None:
    """Exactly one disk must satisfy every key of the rule, else nothing is written and all disks are listed."""
    disks = [bench.add_disk("first"), bench.add_disk("second")]
    run, deployment = await bench.deploy(*disks, disk=rule)
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert deployment.failure.code is code
    assert "S-first" in str(deployment.failure.found) + deployment.failure.what
    assert not deployment.failure.wrote
    assert not any(any(content(disk)) for disk in disks)


@pytest.mark.parametrize("facts", [{"read_only": True}, {"removable": True}])
async def test_im_07_removable_and_read_only_disks_are_no_targets(bench: Any, facts: dict[str, bool]) -> None:
    """Read-only, removable and USB disks, the BMC's virtual ones too, are never written, whatever the rule says."""
    disk = bench.add_disk("system", **facts)
    _, deployment = await bench.deploy(disk)
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.NO_DISK
    assert not any(content(disk))


async def test_disk_smaller_than_the_content_is_refused(bench: Any) -> None:
    disk = bench.add_disk("system", 8 * MIB)
    _, deployment = await bench.deploy(disk)
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.DISK_TOO_SMALL
    assert deployment.failure.expected == f"at least {16 * MIB} bytes"
    assert not any(content(disk))


async def test_foreign_disk_needs_the_order_to_overwrite(bench: Any) -> None:
    disk = bench.add_disk("system", fill=b"somebody else's data")
    before = content(disk)
    _, deployment = await bench.deploy(disk)
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.FOREIGN_DISK
    assert content(disk) == before
    run, deployment = await bench.deploy(disk, overwrite=True)
    assert run.exit_code == 0, run.console
    assert deployment.state is DeploymentState.DONE


@pytest.mark.parametrize("kind", [kind for kind in PAIRS if kind != "btrfs"])
async def test_a_member_of_an_array_is_written_on_order_only_and_its_companion_never(bench: Any, kind: str) -> None:
    disks = [bench.add_disk(name) for name in ("system", "other")]
    for disk, letter in zip(disks, "ab", strict=True):
        unpack(f"{kind}-{letter}", Path(disk["path"]))
    before = [content(disk) for disk in disks]
    _, deployment = await bench.deploy(*disks)
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.FOREIGN_DISK
    assert "member of" in str(deployment.failure.found)
    assert f"{disks[1]['path']} (serial S-other), which would lose this disk" in str(deployment.failure.found)
    assert [content(disk) for disk in disks] == before
    run, deployment = await bench.deploy(*disks, overwrite=True)
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert deployment.done.disk.content.state == "ours"
    assert not any("member of" in line for line in deployment.done.disk.content.summary)
    assert content(disks[1]) == before[1]


async def test_our_own_disk_is_written_again_without_an_order_and_holds_no_old_data(bench: Any) -> None:
    disk = bench.add_disk("system")
    await bench.deploy(disk)
    overwrite(disk, 14 * MIB, b"old" * 1000)
    run, deployment = await bench.deploy(disk, run="run-2")
    assert run.exit_code == 0, run.console
    assert deployment.done is not None
    assert b"oldold" not in content(disk)
    assert deployment.hello is not None
    assert deployment.hello.disks[0].content.stamp == bench.stamp("run-1")
    assert deployment.done.disk.content.stamp == bench.stamp("run-2")


@pytest.mark.parametrize("memory_bytes", [1 << 30, 64 << 10])
async def test_corrupted_image_leaves_the_old_disk_intact(bench: Any, memory_bytes: int) -> None:
    bench.memory_bytes = memory_bytes
    damaged = bytearray(bench.image_path.read_bytes())
    damaged[1000] ^= 1
    bench.image_path.write_bytes(damaged)
    disk = bench.add_disk("system", fill=b"old data")
    before = content(disk)
    run, deployment = await bench.deploy(disk, overwrite=True)
    assert run.exit_code == 1
    assert "nothing was written to any disk" in run.console
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.IMAGE_DIGEST
    assert content(disk) == before


@pytest.mark.parametrize(
    ("change_bytes", "code"), [(-100, FailureCode.IMAGE_TRUNCATED), (100, FailureCode.IMAGE_TOO_LARGE)]
)
async def test_im_10_image_of_the_wrong_length_leaves_the_old_disk_intact(
    bench: Any, change_bytes: int, code: FailureCode
) -> None:
    """Length and digest of the image file are known before; a short or long transfer writes nothing."""
    packed = bench.image_path.read_bytes()
    bench.image_path.write_bytes((packed + bytes(100))[: len(packed) + change_bytes])
    disk = bench.add_disk("system", fill=b"old data")
    before = content(disk)
    _, deployment = await bench.deploy(disk, overwrite=True)
    assert deployment.failure is not None
    assert deployment.failure.code is code
    assert content(disk) == before


async def test_image_larger_than_memory_is_written_in_verified_chunks(bench: Any) -> None:
    bench.memory_bytes = 64 << 10
    disk = bench.add_disk("system")
    run, deployment = await bench.deploy(disk)
    assert run.exit_code == 0, run.console
    assert "each chunk is verified" in run.console
    assert deployment.done is not None
    assert deployment.done.read_back_sha256 == bench.image.content_sha256


async def test_bad_late_chunk_says_part_written_and_the_disk_stays_ours_and_unbootable(bench: Any) -> None:
    bench.memory_bytes = 64 << 10
    damaged = bytearray(bench.image_path.read_bytes())
    damaged[-100] ^= 1
    bench.image_path.write_bytes(damaged)
    disk = bench.add_disk("system", fill=b"old data")
    run, deployment = await bench.deploy(disk, overwrite=True)
    assert run.exit_code == 1
    assert "the disk was written to" in run.console
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.IMAGE_DIGEST
    assert deployment.failure.wrote
    left = probe_content(disk["path"], 24 * MIB)
    assert left.state == "ours"
    assert left.summary[0] == "part-written by run run-1"
    assert left.stamp is not None
    assert (left.stamp["node"], left.stamp["run"], left.stamp["journal"]) == ("lab-1", "run-1", "journal-1")
    assert not any(content(disk)[:524288])


async def test_wrong_content_digest_is_found_by_reading_back(bench: Any) -> None:
    disk = bench.add_disk("system")
    wrong = bench.image.model_copy(update={"content_sha256": "0" * 64})
    _, deployment = await bench.deploy(disk, image=wrong)
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.READ_BACK
    assert deployment.failure.wrote


async def test_go_refused_means_nothing_written(bench: Any) -> None:
    bench.refuse_go.append(GrantError("the grant has expired", where="lab-1"))
    disk = bench.add_disk("system", fill=b"old data")
    before = content(disk)
    run, deployment = await bench.deploy(disk, overwrite=True)
    assert run.exit_code == 1
    assert "the grant has expired" in run.console
    assert deployment.failure is not None
    assert deployment.failure.code is FailureCode.REFUSED
    assert content(disk) == before


async def test_second_boot_of_used_media_does_nothing_but_say_so(bench: Any) -> None:
    disk = bench.add_disk("system")
    prepared = bench.prepare()
    assert (await bench.boot(bench.config(prepared), disk)).exit_code == 0
    before = content(disk)
    again = await bench.boot(bench.config(prepared), disk)
    assert again.exit_code == 3
    assert "this medium was already used by run run-1" in again.console
    assert content(disk) == before
    assert bench.deployment(prepared).state is DeploymentState.DONE


async def test_identity_by_mac_alone_is_honoured(bench: Any) -> None:
    expect = ExpectedIdentity(keys=("macs",), macs=("52:54:00:82:00:01",))
    run, _ = await bench.deploy(bench.add_disk("system"), expect=expect, identity={"macs": ["52:54:00:82:00:01"]})
    assert run.exit_code == 0, run.console
