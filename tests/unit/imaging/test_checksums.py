"""Checksum files as people publish them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import ImageError
from metalwright.imaging.checksums import find_checksum, parse_checksum

A, B, LONG = "a1" * 32, "b2" * 32, "c3" * 64
SIGNED = """\
-----BEGIN PGP SIGNED MESSAGE-----
Hash: SHA256

{text}
-----BEGIN PGP SIGNATURE-----

iQIzBAEBCAAdFiEE
-----END PGP SIGNATURE-----
"""


@pytest.mark.parametrize(
    "text",
    [
        f"{A}  disk.qcow2\n{B}  other.qcow2\n",
        f"{A} *disk.qcow2\r\n{B} *other.qcow2\r\n",
        f"{A}  ./images/disk.qcow2\n",
        f"SHA256 (disk.qcow2) = {A}\nSHA256 (other.qcow2) = {B}\n",
        f"# disk.qcow2: 616693760 bytes\nSHA256 (disk.qcow2) = {A.upper()}\n",
        f"{A}\n",
        f"{A.upper()}",
        f"{A}  disk.qcow2\n{A}  disk.qcow2\n",
        SIGNED.format(text=f"{A} *disk.qcow2\n{B} *other.qcow2"),
        f"MD5 (disk.qcow2) = {'0' * 32}\nSHA256 (disk.qcow2) = {A}\n",
    ],
)
def test_every_published_form_gives_the_digest(text: str) -> None:
    assert str(find_checksum(text, "disk.qcow2", "SUMS")) == f"sha256:{A}"


def test_the_stronger_of_two_kinds_counts() -> None:
    text = f"SHA256 (disk) = {A}\nSHA512 (disk) = {LONG}\n"
    assert str(find_checksum(text, "disk", "SUMS")) == f"sha512:{LONG}"


@pytest.mark.parametrize(
    ("text", "what", "found"),
    [
        ("<!DOCTYPE html><title>404</title>", "HTML", "<!DOCTYPE"),
        ("", "no checksum file", "an empty file"),
        ("not found\n", "no checksum file", "not found"),
        (f"{A}  other.qcow2\n", "does not name disk.qcow2", "other.qcow2"),
        (f"{A}  disk.qcow2\n{B}  disk.qcow2\n", "says two things", "lines 1, 2 differ"),
        (f"{A}\n{B}\n", "says two things", "lines 1, 2 differ"),
        (f"{'0' * 32}  disk.qcow2\n", "no SHA-256", "MD5"),
        (f"{'0' * 40}  disk.qcow2\n", "no SHA-256", "SHA-1"),
        (SIGNED.format(text=f"{A}  other.qcow2"), "does not name", "other.qcow2"),
        (f"{A}  disk.qcow2.old\n", "does not name", "disk.qcow2.old"),
    ],
)
def test_what_is_no_answer_is_refused_with_what_is_there(text: str, what: str, found: str) -> None:
    with pytest.raises(ImageError, match=what) as caught:
        find_checksum(text, "disk.qcow2", "SUMS")
    assert found in str(caught.value.found)
    assert caught.value.where == "SUMS"


def test_text_after_a_signature_is_not_read() -> None:
    with pytest.raises(ImageError, match="does not name"):
        find_checksum(SIGNED.format(text=f"{A}  other") + f"{B}  disk\n", "disk", "SUMS")


@given(st.text(max_size=300))
def test_any_text_is_a_checksum_of_the_file_or_a_refusal(text: str) -> None:
    try:
        found = find_checksum(text, "disk", "SUMS")
    except ImageError:
        return
    assert found.digest in text.lower()


@pytest.mark.parametrize("text", [A, A.upper(), f"sha256:{A}", f"SHA256:{A}", f" {A}\n"])
def test_a_digest_may_be_written_in_any_case_and_with_its_name(text: str) -> None:
    assert parse_checksum(text, "x") == ("sha256", A)
    assert parse_checksum(LONG, "x") == ("sha512", LONG)


@pytest.mark.parametrize("text", ["", " ", "sha256:", "sha512:", A[1:], f"sha512:{A}", "http://x/SUMS", "g" * 64])
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(ImageError):
        parse_checksum(text, "x")
