"""Who vouches for an image: driven through the command line, with the real minisign where it is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.disk_images import sha256, write_disk
from tests.failures.image_sites import ImageSite

from metalwright.cli.app import run
from metalwright.imaging.minisign import public_key_of, sign_file

PUBLISHER = Ed25519PrivateKey.from_private_bytes(b"publisher".ljust(32))


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> ImageSite:
    assert run(["init", str(tmp_path / "site")]) == 0
    return ImageSite(tmp_path / "site", capsys)


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return write_disk(tmp_path / "disk.raw")


def trust(site: ImageSite, key: str, name: str = "publisher") -> None:
    settings = f"images: {{trusted_keys: {{{name}: {key}}}}}\nboot_server:"
    site.edit("inventory/site.yaml", "boot_server:", settings)


def vouched_by(site: ImageSite) -> list[str | None]:
    return [image["vouched_by"] for image in json.loads(site("image", "list", "--json")[1])["images"]]


def test_a_digest_alone_is_nobodys_word(site: ImageSite, disk: Path) -> None:
    code, said = site.add(disk, "--sha256", sha256(disk))
    assert (code, "nobody whom this site trusts" in said, "--vouch" in said) == (1, True, True), said
    assert site.kept == []
    assert site.add(disk, "--sha256", sha256(disk), "--vouch", " ")[0] == 64


def test_a_site_may_allow_unsigned_images(site: ImageSite, disk: Path) -> None:
    site.edit("inventory/site.yaml", "boot_server:", "images: {unsigned: allowed}\nboot_server:")
    code, said = site.add(disk, "--sha256", sha256(disk))
    assert code == 0, said
    assert vouched_by(site) == [None]
    assert site("image", "verify")[0] == 0
    site.edit("inventory/site.yaml", "allowed", "refused")
    code, said = site("image", "verify")
    assert (code, "no signature" in said) == (2, True), said


@pytest.mark.parametrize("is_named", [True, False], ids=["--signature", "beside the file"])
def test_a_trusted_publishers_signature_is_enough(site: ImageSite, disk: Path, tmp_path: Path, is_named: bool) -> None:
    trust(site, public_key_of(PUBLISHER).text)
    place = tmp_path / "elsewhere.sig" if is_named else Path(f"{disk}.minisig")
    place.write_text(sign_file(PUBLISHER, disk, "release 1"))
    code, said = site.add(disk, *(("--signature", str(place)) if is_named else ()))
    assert code == 0, said
    comment = (site.root / "images/tiny/1/image.json.minisig").read_text().splitlines()[2]
    assert "signed by publisher" in comment
    assert "release 1" in comment
    assert vouched_by(site) == ["this site"]


def test_a_signature_of_something_else_or_by_a_stranger_is_refused(site: ImageSite, disk: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"x")
    signature = tmp_path / "sig"
    signature.write_text(sign_file(PUBLISHER, disk, "release 1"))
    code, said = site.add(disk, "--signature", str(signature))
    assert (code, "does not trust" in said, public_key_of(PUBLISHER).id in said) == (1, True, True), said
    trust(site, public_key_of(PUBLISHER).text)
    signature.write_text(sign_file(PUBLISHER, other, "release 1"))
    code, said = site.add(disk, "--signature", str(signature), "--sha256", sha256(disk))
    assert (code, "not of this file" in said) == (1, True), said
    signature.write_text("-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n")
    code, said = site.add(disk, "--signature", str(signature), "--sha256", sha256(disk))
    assert (code, "no minisign signature" in said, "gpg" in said) == (1, True, True), said
    assert site.kept == []


def test_a_changed_entry_is_found_by_verify_and_vouched_for_again_by_sign_only_when_its_bytes_are_right(
    site: ImageSite, disk: Path
) -> None:
    assert site.add(disk, "--sha256", sha256(disk), "--vouch", "test")[0] == 0
    entry = site.root / "images/tiny/1/image.json"
    good = json.loads(entry.read_text())
    entry.write_text(json.dumps({**good, "origin": "somewhere else"}))
    code, said = site("image", "verify")
    assert (code, "not of this file" in said) == (2, True), said
    assert vouched_by(site) == [None]
    assert site("image", "sign", "tiny@1", "--why", "looked at it")[0] == 0
    assert vouched_by(site) == ["this site"]
    entry.write_text(json.dumps({**good, "content_sha256": "0" * 64}))
    code, said = site("image", "sign", "tiny@1", "--why", "looked at it")
    assert (code, "not what its entry says" in said) == (1, True), said
    assert site("image", "sign", "tiny", "--why", "x")[0] == 64


def test_another_site_trusts_the_images_of_this_one_by_its_key(
    site: ImageSite, disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.add(disk, "--sha256", sha256(disk), "--vouch", "test")[0] == 0
    key = site("image", "key")[1].strip()
    assert run(["init", str(tmp_path / "second")]) == 0
    second = ImageSite(tmp_path / "second", capsys)
    shutil.copytree(site.root / "images", second.root / "images")
    code, said = second("image", "verify")
    assert (code, "a signature by key" in said) == (2, True), said
    trust(second, key, "first-site")
    assert second("image", "verify")[0] == 0
    assert vouched_by(second) == ["first-site"]


@pytest.mark.skipif(shutil.which("minisign") is None, reason="the program minisign is not installed")
def test_minisign_itself_checks_an_entry_and_signs_an_image(site: ImageSite, disk: Path, tmp_path: Path) -> None:
    secret, public = tmp_path / "k.key", tmp_path / "k.pub"
    subprocess.run(["minisign", "-GW", "-s", secret, "-p", public], check=True, capture_output=True)
    subprocess.run(["minisign", "-S", "-s", secret, "-m", disk, "-t", "release 7"], check=True, capture_output=True)
    trust(site, public.read_text().splitlines()[1])
    code, said = site.add(disk)
    assert code == 0, said
    key = site("image", "key")[1].strip()
    command = ["minisign", "-Vm", str(site.root / "images/tiny/1/image.json"), "-P", key]
    assert "release 7" in subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_a_public_half_that_a_full_disk_left_empty_is_written_again(site: ImageSite) -> None:
    code, before = site("image", "key")
    assert code == 0
    (site.root / ".metalwright/image-signing.pub").write_text("")
    code, said = site("image", "list")
    assert (code, "image-signing.pub" in said) == (1, True), said
    assert site("image", "key") == (0, before)
    assert site("image", "list")[0] == 0


def test_a_key_that_is_none_is_refused_by_check_with_its_place(site: ImageSite) -> None:
    trust(site, "RWQnotakey")
    code, said = site("check")
    assert (code, "site.yaml:" in said, "trusted_keys" in said) == (2, True, True), said
