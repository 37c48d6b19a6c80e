"""The image catalogue lets in what is known by digest and is a disk image, and sees every change."""

from __future__ import annotations

import hashlib
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.disk_images import efi_program, put, write_disk

from metalwright.errors import ImageError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.image_digests import digest_content, digest_file

MIB = 1 << 20


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A disk that UEFI starts."""
    return write_disk(tmp_path_factory.mktemp("disk") / "disk.raw").read_bytes()


def changed(disk: bytes, at: int, data: bytes) -> bytes:
    return disk[:at] + data + disk[at + len(data) :]


@pytest.fixture
def catalogue(tmp_path: Path) -> ImageCatalogue:
    return ImageCatalogue(tmp_path / "images")


def add(catalogue: ImageCatalogue, data: bytes, digest: str | None = None) -> None:
    source = catalogue.root.parent / "source"
    source.write_bytes(data)
    catalogue.add(source, name="debian-12", version="1", file_sha256=sha256(data) if digest is None else digest)


@pytest.mark.parametrize("image_format", ["raw", "raw.zst"])
def test_added_image_is_described_by_its_digests(catalogue: ImageCatalogue, disk: bytes, image_format: str) -> None:
    raw = changed(disk, 14 * MIB, hashlib.shake_256(b"payload").digest(MIB))
    data = zstandard.compress(raw) if image_format == "raw.zst" else raw
    add(catalogue, data)
    image = catalogue.get("debian-12", "1")
    assert (image.format, image.file) == (image_format, f"image.{image_format}")
    assert (image.file_sha256, image.file_size_bytes) == (sha256(data), len(data))
    assert (image.content_sha256, image.content_size_bytes) == (sha256(raw), len(raw))
    assert image.chunk_sha256 == (sha256(data),)
    assert (image.architecture, image.boot_mode, image.has_signed_chain) == ("x86_64", "uefi", False)
    assert [program.file for program in image.boot_programs] == ["BOOTX64.EFI"]
    assert catalogue.list() == (image,)
    assert catalogue.verify(image) == ()


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"<html>not found</html>" * 60000, "an HTML or XML page"),
        (b"\xfd7zXZ" + bytes(2 * MIB), "an xz file"),
        (bytes(510) + b"\x55\xaa" + bytes(2 * MIB), "a disk with an MBR and no GPT"),
        (b"\x1f\x8b" + bytes(2 * MIB), "a gzip file"),
        (bytes(512) + b"EFI PART", "a file of 520 bytes"),
        (b"", "a file of 0 bytes"),
    ],
)
def test_what_is_no_disk_image_is_refused_by_its_own_bytes(catalogue: ImageCatalogue, data: bytes, found: str) -> None:
    with pytest.raises(ImageError, match="no disk image") as caught:
        add(catalogue, data)
    assert found in str(caught.value.found)
    assert catalogue.list() == ()


@pytest.mark.parametrize(
    ("digest", "said"),
    [("0" * 64, "wrong SHA-256"), ("", "is empty"), ("sha256:", "is empty"), ("0" * 63, "no digest")],
)
def test_wrong_or_empty_digest_is_refused(catalogue: ImageCatalogue, disk: bytes, digest: str, said: str) -> None:
    with pytest.raises(ImageError, match=said):
        add(catalogue, disk, digest)
    assert catalogue.list() == ()
    assert list(catalogue.root.glob("*/*")) == []


def test_digest_may_carry_its_name_and_capitals(catalogue: ImageCatalogue, disk: bytes) -> None:
    add(catalogue, disk, "SHA256:" + sha256(disk).upper().removeprefix("SHA256:"))


def test_image_that_uses_the_place_of_the_stamp_is_refused(catalogue: ImageCatalogue, disk: bytes) -> None:
    with pytest.raises(ImageError, match="place of the stamp"):
        add(catalogue, changed(disk, 524288, b"x"))


@pytest.mark.parametrize(
    ("programs", "found"),
    [
        ({}, "no EFI system partition"),
        ({"GRUBX64.EFI": efi_program()}, "GRUBX64.EFI"),
        ({"BOOTX64.EFI": b"text" * 400}, "no EFI program"),
        ({"BOOTX64.EFI": efi_program("i386")}, "a program for i386"),
        ({"BOOTAA64.EFI": efi_program()}, "a program for x86_64"),
    ],
)
def test_what_uefi_would_not_start_is_refused(
    catalogue: ImageCatalogue, tmp_path: Path, programs: dict[str, bytes], found: str
) -> None:
    with pytest.raises(ImageError) as caught:
        add(catalogue, write_disk(tmp_path / "disk", programs=programs).read_bytes())
    assert found in str(caught.value.found)
    assert catalogue.list() == ()


def test_architecture_is_that_of_the_boot_program(catalogue: ImageCatalogue, tmp_path: Path) -> None:
    add(catalogue, write_disk(tmp_path / "disk", programs={"BOOTAA64.EFI": efi_program("aarch64")}).read_bytes())
    assert catalogue.get("debian-12", "1").architecture == "aarch64"


@pytest.mark.parametrize(
    ("mark", "at", "found"),
    [
        (b"LABELONE", 512, "an LVM physical volume on partition 2"),
        (b"_BHRfS_M", 0x10040, "btrfs on partition 2"),
        (b"", 0, "nothing known on partition 2"),
    ],
)
def test_root_that_cannot_be_grown_is_refused_before_any_disk_is_written(
    catalogue: ImageCatalogue, tmp_path: Path, mark: bytes, at: int, found: str
) -> None:
    disk = write_disk(tmp_path / "disk", root="none")
    put(disk, 2 * MIB + at, mark)
    with pytest.raises(ImageError, match="no root file system") as caught:
        add(catalogue, disk.read_bytes())
    assert caught.value.found == found


def test_much_emptiness_in_few_compressed_bytes_needs_little_memory(catalogue: ImageCatalogue, disk: bytes) -> None:
    packed = zstandard.compress(changed(disk, 14 * MIB, hashlib.shake_256(b"x").digest(MIB)))
    empty = zstandard.ZstdCompressor().compressobj()
    zeros = b"".join(empty.compress(bytes(MIB)) for _ in range(600)) + empty.flush()
    tracemalloc.start()
    add(catalogue, packed + zeros)
    assert catalogue.get("debian-12", "1").content_size_bytes == 616 * MIB
    assert tracemalloc.get_traced_memory()[1] < 300 * MIB
    tracemalloc.stop()


def test_compressed_file_without_a_partition_table_is_refused(catalogue: ImageCatalogue) -> None:
    with pytest.raises(ImageError, match="no GPT"):
        add(catalogue, zstandard.compress(hashlib.shake_256(b"noise").digest(2 * MIB)))
    with pytest.raises(ImageError, match="no GPT"):
        add(catalogue, zstandard.compress(b"x"))


def test_truncated_compressed_file_is_refused(catalogue: ImageCatalogue, disk: bytes) -> None:
    raw = changed(disk, 14 * MIB, hashlib.shake_256(b"payload").digest(2 * MIB))
    with pytest.raises(ImageError, match="cannot be decompressed"):
        add(catalogue, zstandard.compress(raw)[:-10])


def test_version_once_made_is_never_replaced(catalogue: ImageCatalogue, disk: bytes) -> None:
    add(catalogue, disk)
    with pytest.raises(ImageError, match="exists already"):
        add(catalogue, disk)


def test_missing_image_names_those_that_are_there(catalogue: ImageCatalogue, disk: bytes) -> None:
    add(catalogue, disk)
    with pytest.raises(ImageError) as caught:
        catalogue.get("debian-12", "2")
    assert caught.value.found == "debian-12@1"


def test_verify_says_what_differs(catalogue: ImageCatalogue, disk: bytes) -> None:
    add(catalogue, disk)
    image = catalogue.get("debian-12", "1")
    damaged = bytearray(disk)
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
    assert digest_content(path, "raw.zst") == (sha256(b"onetwo"), 6)
