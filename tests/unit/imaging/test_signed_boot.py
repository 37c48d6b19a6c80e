"""Signatures of EFI programs: read as sbverify reads them, and what ``check`` makes of an image without a chain."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
from tests.disk_images import efi_program, sha256, write_disk

from metalwright.checking import examine
from metalwright.cli.app import run
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.portable_executable import read_program
from metalwright.model.image import BootProgram, BootSigner, Image

needs_sbsign = pytest.mark.skipif(shutil.which("sbsign") is None, reason="the program sbsign is not installed")
MICROSOFT = BootSigner(name="Microsoft Windows UEFI Driver Publisher", issuer="Microsoft Corporation UEFI CA 2011")
DEBIAN = BootSigner(name="Debian Secure Boot Signer 2022 - grub2", issuer="Debian Secure Boot CA")


def signed_stub(directory: Path) -> Path:
    """systemd's EFI stub, signed with a key of our own by the real tool."""
    key, certificate, out = directory / "db.key", directory / "db.crt", directory / "signed.efi"
    subject = ["-subj", "/CN=test signer", "-days", "30", "-nodes", "-newkey", "rsa:2048"]
    make = ["openssl", "req", "-new", "-x509", "-sha256", *subject, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(make, check=True, capture_output=True)
    stub = "/usr/lib/systemd/boot/efi/linuxx64.efi.stub"
    sign = ["sbsign", "--key", str(key), "--cert", str(certificate), "--output", str(out), stub]
    subprocess.run(sign, check=True, capture_output=True)
    subprocess.run(["sbverify", "--cert", certificate, out], check=True, capture_output=True)
    return out


@needs_sbsign
def test_the_signer_of_a_program_is_read_and_a_changed_program_has_none(tmp_path: Path) -> None:
    data = signed_stub(tmp_path).read_bytes()
    program = read_program(data)
    assert program is not None
    assert (program.architecture, program.is_shim) == ("x86_64", False)
    assert [(signer.name, signer.issuer) for signer in program.signers] == [("test signer", "test signer")]
    changed = bytearray(data)
    changed[0x1200] ^= 1
    other = read_program(bytes(changed))
    assert other is not None
    assert other.signers == ()


@needs_sbsign
def test_the_catalogue_knows_who_signed_what_firmware_starts(tmp_path: Path) -> None:
    disk = write_disk(tmp_path / "disk", programs={"BOOTX64.EFI": signed_stub(tmp_path).read_bytes()})
    image = ImageCatalogue(tmp_path / "images").add(disk, name="tiny", version="1", file_sha256=sha256(disk))
    assert [signer.name for signer in image.boot_programs[0].signers] == ["test signer"]
    assert not image.has_signed_chain


def image_with(*programs: BootProgram) -> Image:
    return Image(
        name="i", version="1", file="f", format="raw", file_sha256="0" * 64, file_size_bytes=1,
        content_sha256="0" * 64, content_size_bytes=1, boot_programs=programs,
    )  # fmt: skip


def program(file: str, *signers: BootSigner, is_shim: bool = False) -> BootProgram:
    return BootProgram(file=file, architecture="x86_64", is_shim=is_shim, signers=signers)


SHIM, GRUB = program("BOOTX64.EFI", MICROSOFT, is_shim=True), program("GRUBX64.EFI", DEBIAN)


@pytest.mark.parametrize(
    ("programs", "is_signed"),
    [
        ((SHIM, GRUB), True),
        ((SHIM,), False),
        ((SHIM, program("GRUBX64.EFI")), False),
        ((program("BOOTX64.EFI", DEBIAN, is_shim=True), GRUB), False),
        ((program("BOOTX64.EFI", MICROSOFT), GRUB), False),
        ((program("BOOTX64.EFI"), SHIM, GRUB), False),
        ((), False),
    ],
)
def test_a_chain_is_signed_from_its_first_program_on(programs: tuple[BootProgram, ...], is_signed: bool) -> None:
    assert image_with(*programs).has_signed_chain == is_signed


@pytest.mark.parametrize("data", [b"", b"MZ", b"MZ".ljust(4096, b"\xff"), efi_program()[:150], b"\x7fELF".ljust(4096)])
def test_what_is_no_program_is_none(data: bytes) -> None:
    assert read_program(data) is None


def secure_boot_errors(site: Path) -> list[str]:
    return [str(error) for error in examine(site, date(2026, 11, 30)).errors if error.rule == "secure-boot"]


def test_check_refuses_secure_boot_without_a_signed_chain(tmp_path: Path) -> None:
    site = tmp_path / "site"
    assert run(["init", str(site)]) == 0
    path = site / "blueprints/gpu-h100-8x/1.0.0.yaml"
    text = path.read_text().replace("secure_boot: false", "secure_boot: true")
    text = re.sub(r"(?m)^software:\n(?:(?: .*)?\n)*", "", text)
    path.write_text(re.sub(r"method: \[.*\]", "method: [virtual-media]", text))
    (site / "blueprints/blueprints.lock").unlink(missing_ok=True)
    (error,) = secure_boot_errors(site)
    assert re.search(r"1\.0\.0\.yaml:\d+:\d+", error)
    assert "debian-12-gpu.yaml without secure_boot: true" in error

    recipe = site / "templates/image/debian-12-gpu.yaml"
    recipe.write_text(recipe.read_text() + "secure_boot: true\n")
    assert secure_boot_errors(site) == []

    entry = site / "images/debian-12-gpu/2026.11.1/image.json"
    entry.parent.mkdir(parents=True)
    pinned = re.search(r"file_sha256: ([0-9a-f]{64})", text)
    assert pinned is not None
    named = {"name": "debian-12-gpu", "version": "2026.11.1", "file_sha256": pinned[1]}
    kept = image_with(program("BOOTX64.EFI")).model_copy(update=named)
    entry.write_text(json.dumps(kept.to_json()))
    (error,) = secure_boot_errors(site)
    assert "nothing that firmware starts is signed" in error
    entry.write_text(json.dumps(kept.model_copy(update={"boot_programs": (SHIM, GRUB)}).to_json()))
    assert secure_boot_errors(site) == []
