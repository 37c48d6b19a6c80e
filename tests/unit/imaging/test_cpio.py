"""Layers of the ramdisk, as the system's own cpio reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from metalwright.imaging.agent.media import read_media
from metalwright.imaging.cpio import CpioFile, align_layer, pack_cpio


def unpack(archive: bytes, directory: Path) -> None:
    subprocess.run(["cpio", "-idm", "--quiet"], input=archive, cwd=directory, check=True)


def test_archive_unpacks_with_directories_modes_and_content(tmp_path: Path) -> None:
    archive = pack_cpio([CpioFile("a/b/init", 0o755, b"#!/bin/sh\n"), CpioFile("a/data", 0o600, bytes(5000))])
    unpack(archive, tmp_path)
    assert (tmp_path / "a/b/init").read_bytes() == b"#!/bin/sh\n"
    assert (tmp_path / "a/b/init").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a/data").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a/data").read_bytes() == bytes(5000)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}\.x", fullmatch=True), st.binary(max_size=50)))
def test_same_files_make_the_same_bytes_in_any_order(files: dict[str, bytes]) -> None:
    members = [CpioFile(path, 0o644, content) for path, content in files.items()]
    archive = pack_cpio(members)
    assert pack_cpio(reversed(members)) == archive
    assert len(align_layer(archive)) % 4 == 0


def test_agent_finds_its_media_json_inside_a_larger_medium(tmp_path: Path) -> None:
    text = (
        '{"schema": 1, "node": "lab-1", "control_url": "https://10.1.0.2:8481", "server_cert_pem": "PEM",'
        ' "token": "t", "nonce": "n", "network": null}'
    )
    layer = pack_cpio([CpioFile("metalwright/media.json", 0o600, text.encode())])
    medium = tmp_path / "boot.iso"
    medium.write_bytes(bytes(4096) + layer + bytes(4096))
    media = read_media(medium)
    assert (media.node, media.control_url, media.network) == ("lab-1", "https://10.1.0.2:8481", None)
