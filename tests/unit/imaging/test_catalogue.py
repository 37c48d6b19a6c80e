"""The image catalogue lets in what is known by digest and is a disk image, and sees every change."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from metalwright.errors import ImageError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_digests import digest_content, digest_file

MIB = 1 << 20


def raw_disk(stamp_area: bytes = b"", size_bytes: int = 3 * MIB) -> bytes:
    content = bytearray(size_bytes)
    content[512:520] = b"EFI PART"
    content[MIB : 2 * MIB] = hashlib.shake_256(b"payload").digest(MIB)
    content[524288 : 524288 + len(stamp_area)] = stamp_area
    return bytes(content)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def catalogue(tmp_path: Path) -> ImageCatalogue:
    return ImageCatalogue(tmp_path / "images")


def add(catalogue: ImageCatalogue, data: bytes, digest: str | None = None) -> None:
    source = catalogue.root.parent / "source"
    source.write_bytes(data)
    catalogue.add(source, name="debian-12", version="1", file_sha256=sha256(data) if digest is None else digest)


@pytest.mark.parametrize("image_format", ["raw", "raw.zst"])
def test_added_image_is_described_by_its_digests(catalogue: ImageCatalogue, image_format: str) -> None:
    raw = raw_disk()
    data = zstandard.compress(raw) if image_format == "raw.zst" else raw
    add(catalogue, data)
    image = catalogue.get("debian-12", "1")
    assert (image.format, image.file) == (image_format, f"image.{image_format}")
    assert (image.file_sha256, image.file_size_bytes) == (sha256(data), len(data))
    assert (image.content_sha256, image.content_size_bytes) == (sha256(raw), len(raw))
    assert image.chunk_sha256 == (sha256(data),)
    assert catalogue.list() == (image,)
    assert catalogue.verify(image) == ()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"<html>not found</html>" * 60000, "an HTML or XML page"),
        (b"QFI\xfb" + bytes(2 * MIB), "a qcow2 image"),
        (b"\x1f\x8b" + bytes(2 * MIB), "a gzip file"),
        (bytes(512) + b"EFI PART", "a file of 520 bytes"),
        (b"", "a file of 0 bytes"),
        (zstandard.compress(b"x"), "a zstd file"),
    ],
)
def test_what_is_no_disk_image_is_refused_by_its_own_bytes(catalogue: ImageCatalogue, data: bytes, found: str) -> None:
    with pytest.raises(ImageError, match="no disk image") as caught:
        add(catalogue, data)
    assert found in str(caught.value.found)
    assert catalogue.list() == ()


@pytest.mark.parametrize("digest", ["0" * 64, "", "sha256:"])
def test_wrong_or_empty_digest_is_refused(catalogue: ImageCatalogue, digest: str) -> None:
    with pytest.raises(ImageError, match="wrong SHA-256"):
        add(catalogue, raw_disk(), digest)
    assert catalogue.list() == ()


def test_digest_may_carry_its_name_and_capitals(catalogue: ImageCatalogue) -> None:
    add(catalogue, raw_disk(), "SHA256:" + sha256(raw_disk()).upper().removeprefix("SHA256:"))


def test_image_that_uses_the_place_of_the_stamp_is_refused(catalogue: ImageCatalogue) -> None:
    with pytest.raises(ImageError, match="place of the stamp"):
        add(catalogue, raw_disk(b"x"))


def test_compressed_file_without_a_partition_table_is_refused(catalogue: ImageCatalogue) -> None:
    with pytest.raises(ImageError, match="no GPT"):
        add(catalogue, zstandard.compress(hashlib.shake_256(b"noise").digest(2 * MIB)))


def test_truncated_compressed_file_is_refused(catalogue: ImageCatalogue) -> None:
    with pytest.raises(ImageError, match="cannot be decompressed"):
        add(catalogue, zstandard.compress(raw_disk())[:-10])


def test_version_once_made_is_never_replaced(catalogue: ImageCatalogue) -> None:
    add(catalogue, raw_disk())
    with pytest.raises(ImageError, match="exists already"):
        add(catalogue, raw_disk())


def test_missing_image_names_those_that_are_there(catalogue: ImageCatalogue) -> None:
    add(catalogue, raw_disk())
    with pytest.raises(ImageError) as caught:
        catalogue.get("debian-12", "2")
    assert caught.value.found == "debian-12@1"


def test_verify_says_what_differs(catalogue: ImageCatalogue) -> None:
    raw = raw_disk()
    add(catalogue, raw)
    image = catalogue.get("debian-12", "1")
    damaged = bytearray(raw)
    damaged[2 * MIB] ^= 1
    catalogue.file_path(image).write_bytes(damaged)
    differences = catalogue.verify(image)
    assert [line.split(":")[0] for line in differences] == ["file sha256", "sha256 of chunk 0", "content sha256"]
    catalogue.file_path(image).unlink()
    assert catalogue.verify(image) == (f"{catalogue.file_path(image)} is not there",)


@given(st.binary(min_size=1, max_size=5000), st.integers(1, 700))
def test_chunk_digests_cover_the_file_exactly(tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int) -> None:
    path = tmp_path_factory.mktemp("chunks") / "file"
    path.write_bytes(data)
    digests = digest_file(path, size)
    assert digests.sha256 == sha256(data)
    assert digests.chunk_sha256 == tuple(sha256(data[i : i + size]) for i in range(0, len(data), size))


def test_content_of_several_frames_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.zst"
    path.write_bytes(zstandard.compress(b"one") + zstandard.compress(b"two"))
    assert digest_content(path, "raw.zst").sha256 == sha256(b"onetwo")
