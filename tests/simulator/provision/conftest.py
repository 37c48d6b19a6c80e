"""The tiny image, made once a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.disk_images import sha256, write_disk


@pytest.fixture(scope="session")
def tiny_image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A raw image with a GPT, a boot program and an ext4 root, and its SHA-256."""
    path = write_disk(tmp_path_factory.mktemp("tiny-image") / "tiny.raw")
    return path, sha256(path)
