"""Images whose root is XFS, written by the real agent, then mounted to look at what is there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.disk_images import MIB, put, sha256
from tests.xfs_images import LABELS, make_xfs_image, mounted, needs_xfs

from metalwright.imaging.agent.stamp import decode_stamp, read_stamp_area
from metalwright.model.agent_protocol import FailureCode
from metalwright.model.image import Image

pytestmark = needs_xfs
GROWN_MIB = 448


@pytest.fixture(scope="module")
def xfs_image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Image, Path]:
    return make_xfs_image(tmp_path_factory.mktemp("xfs-image"))


async def test_an_image_with_an_xfs_root_is_written_grown_seeded_and_its_labels_kept(
    bench: Any, xfs_image: tuple[Image, Path], tmp_path: Path
) -> None:
    image, packed = xfs_image
    bench.image_path.write_bytes(packed.read_bytes())
    disk = bench.add_disk("system", GROWN_MIB * MIB)
    run, deployment = await bench.deploy(disk, image=image)
    assert run.exit_code == 0, run.console
    done = deployment.done
    assert done is not None
    assert done.read_back_sha256 == image.content_sha256

    with mounted(Path(disk["path"]), tmp_path / "mounted") as root:
        assert (root / "etc/hostname").read_text() == "lab-1\n"
        assert (root / "root/.ssh/authorized_keys").read_text() == "ssh-ed25519 AAAA ops\n"
        assert (root / "root/.ssh/authorized_keys").stat().st_mode & 0o777 == 0o600
        key = root / "etc/ssh/ssh_host_ed25519_key"
        assert key.with_name(f"{key.name}.pub").read_text().strip() == done.ssh_host_key
        assert key.stat().st_mode & 0o777 == 0o600
        stamp = json.loads((root / "etc/metalwright/stamp.json").read_text())
        seen = os.statvfs(root)
        assert (GROWN_MIB - 72) * MIB < seen.f_blocks * seen.f_frsize < (GROWN_MIB - 2) * MIB, "but for its log"
        for path in ("etc/hosts", "etc/metalwright", "etc/metalwright/stamp.json"):
            assert os.getxattr(root / path, "security.selinux").decode() == LABELS["etc"]
        assert os.getxattr(root / "etc/hostname", "security.selinux").decode() == LABELS["etc/hostname"]
        assert "security.selinux" not in os.listxattr(key), "its directory has no label"
    assert stamp == decode_stamp(read_stamp_area(disk["path"])) == bench.stamp().to_json()
    assert is_whole(Path(disk["path"]), tmp_path / "root.xfs")


def is_whole(disk: Path, root: Path) -> bool:
    """Whether xfs_repair finds nothing to repair in the root of a disk, of which it gets a copy."""
    subprocess.run(
        ["dd", f"if={disk}", f"of={root}", "bs=1M", "skip=2", "conv=sparse"], check=True, capture_output=True
    )
    return subprocess.run(["xfs_repair", "-n", "-f", str(root)], check=False, capture_output=True).returncode == 0


def damaged(packed: Path, image: Image, raw: Path) -> Image:
    """The entry of an image whose root has a damaged superblock, which its checksum tells; written to ``raw``."""
    subprocess.run(["zstd", "-dqf", str(packed), "-o", str(raw)], check=True)
    put(raw, 2 * MIB + 64, b"\xff" * 64)
    content, size = raw.read_bytes(), image.chunk_bytes
    chunks = (content[at : at + size] for at in range(0, len(content), size))
    whole = {"file_sha256": sha256(raw), "content_sha256": sha256(raw), "file_size_bytes": len(content)}
    digests = tuple(hashlib.sha256(chunk).hexdigest() for chunk in chunks)
    return image.model_copy(update={"format": "raw", "chunk_sha256": digests, **whole})


async def test_a_damaged_xfs_root_is_no_success_and_one_more_attempt_brings_it(
    bench: Any, xfs_image: tuple[Image, Path]
) -> None:
    image, packed = xfs_image
    broken = damaged(packed, image, bench.image_path)
    disk = bench.add_disk("system", GROWN_MIB * MIB)
    run, deployment = await bench.deploy(disk, image=broken)
    assert run.exit_code == 1
    assert deployment.failure is not None
    assert (deployment.failure.code, deployment.failure.wrote) == (FailureCode.SEED, True)
    assert "mount -t xfs" in deployment.failure.what
    assert decode_stamp(read_stamp_area(disk["path"])) is None

    bench.image_path.write_bytes(packed.read_bytes())
    run, _ = await bench.deploy(disk, image=image, run="run-2")
    assert run.exit_code == 0, run.console
