"""The site's known_hosts file."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from metalwright.errors import SshHostKeyError
from metalwright.ssh import forget_host, known_hosts_line, read_host_key, record_host_key


def new_key() -> str:
    key = paramiko.ECDSAKey.generate()
    return f"{key.get_name()} {key.get_base64()}"


def test_a_recorded_key_is_read_back(tmp_path: Path) -> None:
    path, key = tmp_path / "state" / "known_hosts", new_key()
    record_host_key(path, "127.77.1.1", 2222, key + " root@n1")
    assert read_host_key(path, "127.77.1.1", 2222) == key
    assert read_host_key(path, "127.77.1.1", 22) is None
    assert path.read_text() == f"[127.77.1.1]:2222 {key}\n"


def test_port_22_is_named_as_openssh_names_it() -> None:
    key = new_key()
    assert known_hosts_line("10.0.0.1", 22, key) == f"10.0.0.1 {key}"


def test_a_new_key_of_a_host_replaces_the_old_one_and_leaves_others(tmp_path: Path) -> None:
    path, first, second, other = tmp_path / "known_hosts", new_key(), new_key(), new_key()
    record_host_key(path, "a", 22, first)
    record_host_key(path, "b", 22, other)
    record_host_key(path, "a", 22, second)
    assert path.read_text().splitlines() == [f"a {second}", f"b {other}"]
    forget_host(path, "a", 22)
    assert path.read_text().splitlines() == [f"b {other}"]


def test_openssh_finds_the_host(tmp_path: Path) -> None:
    path = tmp_path / "known_hosts"
    record_host_key(path, "127.77.1.1", 2222, new_key())
    found = subprocess.run(["ssh-keygen", "-F", "[127.77.1.1]:2222", "-f", path], capture_output=True, check=False)
    assert found.returncode == 0


def test_writers_at_once_lose_no_line(tmp_path: Path) -> None:
    path, key = tmp_path / "known_hosts", new_key()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: record_host_key(path, f"n{number}", 22, key), range(32)))
    assert len(path.read_text().splitlines()) == 32


def test_what_is_no_key_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(SshHostKeyError):
        record_host_key(tmp_path / "known_hosts", "a", 22, "ssh-ed25519 AAAA\n* ssh-ed25519 AAAA")
    assert not (tmp_path / "known_hosts").exists()
