"""Taking images that are not what they seem: judged by exit code, words, what was fetched and what is kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disk_images import MIB, put, sha256, write_disk
from tests.failures.image_sites import ImageSite, Web, web_server

from metalwright.cli.app import run

VOUCH = ("--vouch", "a test made it")
ADDRESS = "127.102.0.1"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_disk(tmp_path_factory.mktemp("published") / "disk.raw")


@pytest.fixture
def web() -> Iterator[Web]:
    with web_server(ADDRESS) as served:
        yield served


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ImageSite:
    assert run(["init", str(tmp_path / "site")]) == 0
    return ImageSite(tmp_path / "site", capsys)


@pytest.mark.parametrize("form", ["{digest}", "sha256:{digest}", "{DIGEST}", "sums file", "sums url"])
def test_im_04_a_digest_may_be_given_in_each_form(site: ImageSite, web: Web, disk: Path, form: str) -> None:
    """Takes a digest in any case, with or without its name, or a checksum file by path or URL; checks its length."""
    digest = sha256(disk)
    sums = f"{digest.upper()} *disk.raw\n{'0' * 64} *other.raw\n"
    (site.root / "SHA256SUMS").write_text(sums)
    options = {
        "sums file": ("--checksums", str(site.root / "SHA256SUMS")),
        "sums url": ("--checksums", web.give("/SHA256SUMS", sums)),
    }.get(form, ("--sha256", form.format(digest=digest, DIGEST=digest.upper())))
    code, said = site.add(disk, *options, *VOUCH)
    assert code == 0, said
    assert f"file_sha256: {digest}" in said
    entry = json.loads((site.root / "images/tiny/1/image.json").read_text())
    assert entry["published"]["digest"] == digest


@pytest.mark.parametrize(("digest", "found"), [("ab" * 31, "62 characters"), ("http://x/SUMS", "13 characters")])
def test_im_04_a_digest_of_another_length_is_refused_with_the_right_one(
    site: ImageSite, disk: Path, digest: str, found: str
) -> None:
    """Takes a digest in any case, with or without its name, or a checksum file by path or URL; checks its length."""
    code, said = site.add(disk, "--sha256", digest, *VOUCH)
    assert (code, found in said, "64 (SHA-256) or 128 (SHA-512)" in said) == (1, True, True), said
    assert site.kept == []


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream"])
def test_im_05_a_page_in_place_of_the_checksums_is_refused_before_the_image_is_asked_for(
    site: ImageSite, web: Web, disk: Path, kind: str
) -> None:
    """Takes nothing but digests of the right length from a checksum file; a page stops before the image is fetched."""
    image = web.give("/disk.raw", disk.read_bytes())
    sums = web.give("/SHA256SUMS", "<html><title>not found</title></html>", kind=kind)
    code, said = site.add(image, "--checksums", sums, *VOUCH)
    assert (code, "HTML" in said, sums in said) == (1, True, True), said
    assert web.asked == ["/SHA256SUMS"]
    code, said = site.add(image, "--checksums", web.url + "/gone", *VOUCH)
    assert (code, "HTTP 404" in said) == (1, True), said
    assert "/disk.raw" not in web.asked
    assert site.kept == []


@pytest.mark.parametrize(
    ("body", "kind", "said_so"),
    [
        (b"Not Found".ljust(1024), "text/plain", "too small for an image"),
        (b"<html>".ljust(2 * MIB), "text/html", "HTML page in place of the image"),
        (b"<html>".ljust(2 * MIB), "text/plain", "an HTML or XML page of 2097152 bytes"),
        (b"\x1f\x8b".ljust(2 * MIB), "application/gzip", "a gzip file of 2097152 bytes"),
    ],
)
def test_im_06_what_is_served_in_place_of_an_image_is_refused_by_its_own_bytes(
    site: ImageSite, web: Web, body: bytes, kind: str, said_so: str
) -> None:
    """Wants a digest or a trusted signature, a minimum size and the bytes of a disk, even when the digest is right."""
    image = web.give("/disk.qcow2", body, kind=kind)
    code, said = site.add(image, "--sha256", hashlib.sha256(body).hexdigest(), *VOUCH)
    assert (code, said_so in said) == (1, True), said
    assert site.kept == []


def test_im_06_nothing_is_taken_without_a_digest_or_a_signature(site: ImageSite, disk: Path) -> None:
    """Wants a digest or a trusted signature, a minimum size and the bytes of a disk, even when the digest is right."""
    code, said = site.add(disk, *VOUCH)
    assert (code, "--sha256" in said, "--checksums" in said) == (64, True, True), said
    assert site.kept == []


@pytest.mark.parametrize("pin", ['""', "null", '"sha256:"', ""])
def test_im_08_an_empty_pin_in_a_blueprint_is_refused(site: ImageSite, pin: str) -> None:
    """An empty digest is an error with its place, in blueprints, on the command line and in checksum files."""
    path = "blueprints/gpu-h100-8x/1.0.0.yaml"
    text = (site.root / path).read_text()
    (site.root / path).write_text(re.sub(r"file_sha256: \S+", f"file_sha256: {pin}", text))
    code, said = site("check")
    assert code == 2
    assert re.search(r"1\.0\.0\.yaml:7\d:\d+: .*(sha256 digest has 64|file_sha256)", said), said


@pytest.mark.parametrize("digest", ["", " ", "sha256:"])
def test_im_08_an_empty_pin_on_the_command_line_is_refused(site: ImageSite, disk: Path, digest: str) -> None:
    """An empty digest is an error with its place, in blueprints, on the command line and in checksum files."""
    code, said = site.add(disk, "--sha256", digest, *VOUCH)
    assert (code, "the digest is empty" in said) == (1, True), said
    (site.root / "SUMS").write_text(f"{digest}  disk.raw\n")
    code, said = site.add(disk, "--checksums", str(site.root / "SUMS"), *VOUCH)
    assert (code, "no checksum file" in said) == (1, True), said
    assert site.kept == []


def test_im_10_a_transfer_that_breaks_off_keeps_nothing(site: ImageSite, web: Web, disk: Path) -> None:
    """Length and digest of the image file are known before; a short or long transfer writes nothing."""
    data = disk.read_bytes()
    image = web.give("/disk.raw", data[: len(data) // 3], announced_bytes=len(data))
    code, said = site.add(image, "--sha256", sha256(disk), *VOUCH)
    assert (code, f"{len(data)} bytes" in said, f"{len(data) // 3} bytes" in said) == (1, True, True), said
    assert site.kept == []


def qcow2(disk: Path, target: Path, *options: str) -> Path:
    command = ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, str(disk), str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize("options", [[], ["-c"], ["-o", "compat=0.10"]], ids=["plain", "compressed", "version 2"])
def test_im_11_qcow2_is_known_by_its_header_and_kept_as_the_disk_inside(
    site: ImageSite, disk: Path, options: list[str]
) -> None:
    """Tells formats by their header, whatever the name; qcow2 becomes raw; sizes are compared with the disks."""
    packed = qcow2(disk, site.root / "disk.raw", *options)
    code, said = site.add(packed, "--sha256", sha256(packed), *VOUCH)
    assert code == 0, said
    entry = json.loads((site.root / "images/tiny/1/image.json").read_text())
    assert (entry["source_format"], entry["format"]) == ("qcow2", "raw.zst")
    assert (entry["content_sha256"], entry["content_size_bytes"]) == (sha256(disk), disk.stat().st_size)
    assert entry["published"]["digest"] == sha256(packed)
    assert site("image", "verify")[0] == 0


def test_im_11_a_qcow2_image_that_needs_another_file_or_is_too_large_is_refused(site: ImageSite, disk: Path) -> None:
    """Tells formats by their header, whatever the name; qcow2 becomes raw; sizes are compared with the disks."""
    base = qcow2(disk, site.root / "base.qcow2")
    layer, outside = site.root / "layer.qcow2", site.root / "outside.qcow2"
    make = ["qemu-img", "create", "-q", "-f", "qcow2"]
    subprocess.run([*make, "-b", str(base), "-F", "qcow2", str(layer)], check=True)
    subprocess.run([*make, "-o", f"data_file={site.root / 'data'}", str(outside), "4M"], check=True)
    large = qcow2(disk, site.root / "large.qcow2")
    put(large, 24, struct.pack(">Q", 2 << 40))
    cut = site.root / "cut.qcow2"
    cut.write_bytes(b"QFI\xfb\0\0\0\3")
    told = {layer: "backing file", outside: "another file", large: f"{2 << 40} bytes", cut: "cut off"}
    for path, words in told.items():
        code, said = site.add(path, "--sha256", sha256(path), *VOUCH)
        assert (code, words in said) == (1, True), said
    assert site.kept == []


def test_im_11_an_image_that_does_not_fit_the_declared_disks_is_refused_by_check(site: ImageSite, disk: Path) -> None:
    """Tells formats by their header, whatever the name; qcow2 becomes raw; sizes are compared with the disks."""
    code, said = site.add(disk, "--sha256", sha256(disk), *VOUCH)
    assert code == 0, said
    path = "blueprints/gpu-h100-8x/1.0.0.yaml"
    text = (site.root / path).read_text()
    pin = f"{{name: tiny, version: '1', file_sha256: {sha256(disk)}}}"
    text = re.sub(r"(?m)^image:.*\n(?:  .*\n)*", f"image: {pin}\n", text)
    (site.root / "blueprints/blueprints.lock").unlink(missing_ok=True)
    (site.root / path).write_text(text)
    assert "does not fit" not in site("check")[1]
    (site.root / path).write_text(text.replace("min_bytes: 900000000000", "min_bytes: 1000000"))
    code, said = site("check")
    assert (code, "does not fit" in said, f"{disk.stat().st_size} bytes" in said) == (2, True, True), said


def test_im_11_an_image_that_was_cut_off_before_its_digest_was_taken_is_refused(site: ImageSite, disk: Path) -> None:
    """Tells formats by their header, whatever the name; qcow2 becomes raw; sizes are compared with the disks."""
    cut = site.root / "cut.raw"
    cut.write_bytes(disk.read_bytes()[: 9 * MIB])
    code, said = site.add(cut, "--sha256", sha256(cut), *VOUCH)
    assert (code, "cut off" in said, f"{9 * MIB} bytes" in said) == (1, True, True), said
    whole = qcow2(disk, site.root / "whole.qcow2")
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size - 128 * 1024])
    code, said = site.add(cut, "--sha256", sha256(cut), *VOUCH)
    assert (code, "qemu-img failed" in said) == (1, True), said
    assert site.kept == []
    packed = site.root / "cut.raw.zst"
    subprocess.run(["zstd", "-q", str(disk), "-o", str(packed)], check=True)
    packed.write_bytes(packed.read_bytes()[:-40])
    code, said = site.add(packed, "--sha256", sha256(packed), *VOUCH)
    assert code == 1
    assert said.startswith(f"error: {packed}: the image file cannot be decompressed"), said
    assert "hint:" in said
    assert ".adding" not in said


@pytest.mark.parametrize(("name", "version"), [("../../outside", "1"), ("", "1"), ("tiny", "../../1"), ("tiny", ".1")])
def test_what_no_image_can_be_called_is_refused_before_anything_is_fetched_or_made(
    site: ImageSite, web: Web, disk: Path, name: str, version: str
) -> None:
    url = web.give("/disk.raw", disk.read_bytes())
    before = sorted(site.root.parent.iterdir())
    wanted = ("--name", name, "--version", version, "--sha256", sha256(disk), *VOUCH)
    code, said = site("image", "add", url, *wanted)
    assert (code, "no image can have this" in said) == (64, True), said
    code, said = site("image", "build", "debian-12", "--version", "../../1")
    assert (code, "no image can have this version" in said) == (64, True), said
    assert (web.asked, site.kept, sorted(site.root.parent.iterdir())) == ([], [], before)


@pytest.mark.parametrize("option", ["source", "--checksums", "--signature"])
def test_what_is_no_url_is_refused_as_such(site: ImageSite, disk: Path, option: str) -> None:
    source, more = ("http://[::1", ()) if option == "source" else (disk, (option, "http://[::1"))
    code, said = site.add(source, "--sha256", sha256(disk), *more, *VOUCH)
    assert (code, "http://[::1: this is no URL" in said) == (1, True), said


def test_a_killed_add_leaves_nothing_that_counts_and_is_cleaned_up(site: ImageSite, tmp_path: Path) -> None:
    large = write_disk(tmp_path / "large.raw", size_bytes=400 * MIB)
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(site.root), "image", "add", str(large)]
    command += ["--name", "tiny", "--version", "1", "--sha256", sha256(large), *VOUCH]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not site.kept and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(site.kept) == 1, "the kill came while the image was put together"
    assert json.loads(site("image", "list", "--json")[1])["images"] == []
    code, said = site.add(large, "--sha256", sha256(large), *VOUCH)
    assert code == 0, said
    assert "1" in {Path(path).name for path in site.kept}


@pytest.mark.skipif(os.geteuid() != 0, reason="a file system of its own needs root")
def test_a_full_disk_is_an_error_with_a_hint_and_keeps_nothing(site: ImageSite, tmp_path: Path) -> None:
    disk = write_disk(tmp_path / "noise.raw")
    put(disk, 5 * MIB, os.urandom(9 * MIB))
    (site.root / "images/tiny").mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(site.root / "images")]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        code, said = site.add(disk, "--sha256", sha256(disk), *VOUCH)
        assert (code, "No space left" in said, "image gc" in said) == (1, True, True), said
        assert site.kept == []
    finally:
        subprocess.run(["umount", str(site.root / "images")], check=True)
