"""The login key of a site: made once, private, and its public half is what OpenSSH says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from metalwright.errors import SshAuthError
from metalwright.ssh.keys import ensure_private_key, public_half


def test_a_key_is_made_once_and_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = ensure_private_key(tmp_path / "ssh" / "id_ed25519")
    first = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert ensure_private_key(path).read_bytes() == first
    assert [item.name for item in path.parent.iterdir()] == ["id_ed25519"]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_the_public_half_is_what_openssh_derives(tmp_path: Path) -> None:
    path = ensure_private_key(tmp_path / "id_ed25519")
    told = subprocess.run(["ssh-keygen", "-y", "-f", str(path)], capture_output=True, text=True, check=True).stdout
    assert public_half(path).split()[:2] == told.split()[:2]


def test_a_file_that_is_no_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "id"
    path.write_text("hello")
    with pytest.raises(SshAuthError) as caught:
        public_half(path)
    assert str(path) in str(caught.value)
