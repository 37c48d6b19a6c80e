"""Signatures in the format of minisign, both ways with the real program where it is installed."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import ImageError
from metalwright.imaging.minisign import (
    check_signature,
    parse_public_key,
    parse_signature,
    public_key_of,
    sign_file,
)

needs_minisign = pytest.mark.skipif(shutil.which("minisign") is None, reason="the program minisign is not installed")
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def minisign(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["minisign", *arguments], capture_output=True, text=True, check=False, input="")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "image.json"
    path.write_bytes(b"what is signed\n" * 1000)
    return path


@needs_minisign
def test_our_signature_satisfies_minisign(file: Path) -> None:
    signature = file.with_name("image.json.minisig")
    signature.write_text(sign_file(KEY, file, "debian-12@1: built here"))
    done = minisign("-Vm", str(file), "-P", public_key_of(KEY).text)
    assert done.returncode == 0, done.stderr
    assert "debian-12@1: built here" in done.stdout
    file.write_bytes(b"something else")
    assert minisign("-Vm", str(file), "-P", public_key_of(KEY).text).returncode != 0


@needs_minisign
@pytest.mark.parametrize("kind", [["-H"], ["-l"]], ids=["prehashed", "legacy"])
def test_signature_of_minisign_satisfies_us(file: Path, tmp_path: Path, kind: list[str]) -> None:
    secret, public = tmp_path / "k.key", tmp_path / "k.pub"
    assert minisign("-GW", "-s", str(secret), "-p", str(public)).returncode == 0
    made = minisign("-S", *kind, "-s", str(secret), "-m", str(file), "-t", "release 1")
    assert made.returncode == 0, made.stderr
    key = parse_public_key(public.read_text(), "k.pub")
    signature = parse_signature(Path(f"{file}.minisig").read_text(), "sig")
    assert (signature.key_id, signature.comment) == (key.id, "release 1")
    assert key.id in public.read_text()
    assert signature.is_prehashed == (kind == ["-H"])
    check_signature(signature, key, file, "sig")
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(ImageError, match="not of this file"):
        check_signature(signature, key, file, "sig")


def test_legacy_signature_covers_the_file_itself(file: Path) -> None:
    key = public_key_of(KEY)
    raw = b"Ed" + key.raw[2:10] + KEY.sign(file.read_bytes())
    over = KEY.sign(raw[10:] + b"old")
    lines = (
        "untrusted comment: x",
        base64.b64encode(raw).decode(),
        "trusted comment: old",
        base64.b64encode(over).decode(),
    )
    check_signature(parse_signature("\n".join(lines), "sig"), key, file, "sig")


def test_a_changed_comment_or_another_key_is_found_out(file: Path) -> None:
    text = sign_file(KEY, file, "good")
    forged = parse_signature(text.replace("trusted comment: good", "trusted comment: bad"), "sig")
    with pytest.raises(ImageError, match="not of this file"):
        check_signature(forged, public_key_of(KEY), file, "sig")
    other = public_key_of(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"other").digest()))
    with pytest.raises(ImageError, match="not of this file"):
        check_signature(parse_signature(text, "sig"), other, file, "sig")


def test_a_comment_stays_on_its_line(file: Path) -> None:
    text = sign_file(KEY, file, "one\nuntrusted comment: two")
    assert parse_signature(text, "sig").comment == "one untrusted comment: two"


@given(st.integers(0, 320), st.integers(1, 255))
def test_no_changed_byte_passes(tmp_path_factory: pytest.TempPathFactory, place: int, change: int) -> None:
    path = tmp_path_factory.mktemp("signed") / "file"
    path.write_bytes(b"content")
    text = bytearray(sign_file(KEY, path, "comment").encode())
    start = text.index(b"\n") + 1
    place = start + place % (len(text) - 1 - start)
    text[place] ^= change
    try:
        signature = parse_signature(text.decode("latin-1"), "sig")
    except ImageError:
        return
    if (signature.raw, signature.over_comment, signature.comment) == _parts(path):
        return  # the last character of base64 has bits that mean nothing
    if signature.key_id == public_key_of(KEY).id:
        with pytest.raises(ImageError):
            check_signature(signature, public_key_of(KEY), path, "sig")


def _parts(path: Path) -> tuple[bytes, bytes, str]:
    whole = parse_signature(sign_file(KEY, path, "comment"), "sig")
    return whole.raw, whole.over_comment, whole.comment


@pytest.mark.parametrize("text", ["", "x", "-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END", "a\nb\nc\nd\n", "RWQ"])
def test_what_is_no_signature_or_key_is_refused(text: str) -> None:
    with pytest.raises(ImageError, match="no minisign signature"):
        parse_signature(text, "sig")
    with pytest.raises(ImageError, match="no minisign public key"):
        parse_public_key(text, "key")
