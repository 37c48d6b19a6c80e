"""The tiny image, made once a session."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

MIB = 1 << 20


@pytest.fixture(scope="session")
def tiny_image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A raw image with a GPT and an ext4 root, and its SHA-256."""
    directory = tmp_path_factory.mktemp("tiny-image")
    root, path = directory / "root", directory / "tiny.raw"
    (root / "etc/ssh").mkdir(parents=True)
    (root / "etc/hostname").write_text("unset\n")
    with path.open("wb") as file:
        file.truncate(16 * MIB)
    table = "label: gpt\nstart=2048, size=2048, type=U\nstart=4096, size=26624, type=L\n"
    subprocess.run(["sfdisk", "-q", str(path)], input=table.encode(), check=True)
    mkfs = ["mkfs.ext4", "-q", "-F", "-E", f"offset={2 * MIB}", "-d", str(root), str(path), "13M"]
    subprocess.run(mkfs, check=True, capture_output=True)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()
