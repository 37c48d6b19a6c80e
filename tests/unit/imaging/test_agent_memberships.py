"""Members of arrays, volume groups and pools, as the real tools made them: recognised, told, never taken for ours."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.disk_images import MIB, put
from tests.unit.imaging.members import PAIRS, unpack

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.memberships import with_companions
from metalwright.imaging.agent.records import Disk
from metalwright.imaging.agent.signatures import probe_content
from metalwright.imaging.agent.stamp import write_stamp
from metalwright.imaging.agent.target import check_content

STAMP = {"node": "lab-1", "journal": "j1", "run": "r1", "written": "2026-11-30T12:00:00Z"}
TOLD = {
    "md-0.90": "member of RAID array (md 0.90.0)",
    "md-1.0": "member of RAID array rack7:boot (md 1.0)",
    "md-1.1": "member of RAID array rack7:root (md 1.1)",
    "md-1.2": "member of RAID array rack7:data (md 1.2)",
    "imsm": "member of RAID array of Intel firmware (IMSM)",
    "ddf": "member of RAID array of firmware (DDF)",
    "lvm": "member of LVM volume group scratch",
    "btrfs": "member of btrfs file system pool",
}


def disk(path: Path, serial: str) -> Disk:
    size_bytes = path.stat().st_size
    content = probe_content(str(path), size_bytes)
    return Disk(str(path), serial, None, None, size_bytes, "SATA", False, False, content)


@pytest.mark.parametrize("kind", PAIRS)
def test_a_member_is_foreign_and_names_its_kind_and_the_disks_that_it_belongs_to(tmp_path: Path, kind: str) -> None:
    first, second = (disk(unpack(f"{kind}-{letter}", tmp_path / letter), f"S-{letter}") for letter in "ab")
    blank = tmp_path / "blank"
    blank.write_bytes(bytes(1 << 20))
    judged = with_companions((first, disk(blank, "S-blank"), second))
    assert [item.content.state for item in judged] == ["foreign", "blank", "foreign"]
    told = "; ".join(judged[0].content.summary)
    assert f"{TOLD[kind]} on the whole disk" in told
    assert f"is also on {tmp_path / 'b'} (serial S-b), which would lose this disk" in told
    assert "S-blank" not in told
    alone = with_companions((first,))[0].content
    assert (alone.state, "also on" in "; ".join(alone.summary)) == ("foreign", False)


@pytest.mark.parametrize(
    ("name", "told"),
    [("luks", "crypto_LUKS on the whole disk labelled vault"), ("bcache-a", "member of bcache on the whole disk")],
)
def test_encrypted_disks_and_caches_are_foreign_and_named(tmp_path: Path, name: str, told: str) -> None:
    content = disk(unpack(name, tmp_path / "disk"), "S1").content
    assert (content.state, content.summary) == ("foreign", (told,))


def test_members_of_different_arrays_do_not_belong_together(tmp_path: Path) -> None:
    disks = [disk(unpack(f"{kind}-a", tmp_path / kind), kind) for kind in PAIRS]
    assert not any("also on" in line for item in with_companions(tuple(disks)) for line in item.content.summary)


@pytest.mark.parametrize("kind", ["md-0.90", "md-1.0"])
def test_a_written_disk_that_somebody_put_into_an_array_is_not_ours_any_more(tmp_path: Path, kind: str) -> None:
    path = unpack(f"{kind}-a", tmp_path / "disk")
    write_stamp(str(path), STAMP)
    probed = disk(path, "S1")
    assert probed.content.state == "ours"
    (judged,) = with_companions((probed,))
    assert judged.content.state == "foreign"
    with pytest.raises(AgentError) as caught:
        check_content(judged, False, STAMP)
    assert caught.value.code == "foreign-disk"
    assert "carries our stamp, but somebody has used it in another way" in str(caught.value.found)


@pytest.mark.parametrize("kind", PAIRS)
def test_what_is_zeroed_before_a_write_leaves_nothing_of_a_member(tmp_path: Path, kind: str) -> None:
    path = unpack(f"{kind}-a", tmp_path / "disk")
    size_bytes = path.stat().st_size
    put(path, 0, bytes(16 * MIB))
    put(path, size_bytes - MIB, bytes(MIB))
    content = probe_content(str(path), size_bytes)
    assert (content.state, content.memberships) == ("blank", ())


def test_partitions_keep_their_numbers_where_the_table_leaves_some_out(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    with path.open("wb") as file:
        file.truncate(64 << 20)
    table = f"label: gpt\n{path}1 : start=65536, size=16384\n{path}14 : start=2048, size=2048\n"
    subprocess.run(["sfdisk", "-q", str(path)], input=table.encode(), check=True)
    member = unpack("luks", tmp_path / "member").read_bytes()
    with path.open("r+b") as file:
        file.seek(1 << 20)
        file.write(member[: 1 << 20])
    assert disk(path, "S1").content.summary[-1] == "crypto_LUKS on p14 labelled vault"
