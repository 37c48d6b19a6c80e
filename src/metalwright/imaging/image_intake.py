"""Taking an image that somebody else made: fetched, compared with what its publisher says, converted, vouched for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import ImageError, UsageError
from metalwright.imaging.catalogue import WRONG_DIGEST, ImageCatalogue, Provenance
from metalwright.imaging.checksums import Checksum, find_checksum, parse_checksum
from metalwright.imaging.image_digests import digest_file
from metalwright.imaging.image_formats import detect_format
from metalwright.imaging.image_trust import SIGNATURE_SUFFIX, ImageSigner, ImageTrust
from metalwright.imaging.minisign import PublicKey, Signature, check_signature, parse_signature
from metalwright.imaging.programs import run_program
from metalwright.imaging.qcow2 import convert_to_raw
from metalwright.imaging.scratch import ADDING, scratch_directory
from metalwright.imaging.sources import fetch, is_url, name_of, read_text
from metalwright.model.image import Image, PublishedDigest

ZSTD_LEVEL: Final = 9


@dataclass(frozen=True)
class Intake:
    """What somebody wants taken. ``source``, ``checksums`` and ``signature`` are paths or URLs.

    ``vouch`` is why the person vouches for the image, where no trusted key signed it.
    """

    source: str
    name: str
    version: str
    sha256: str | None = None
    checksums: str | None = None
    checksum_name: str | None = None
    signature: str | None = None
    vouch: str | None = None

    @property
    def ref(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"


class _Publisher(NamedTuple):
    name: str
    key: PublicKey
    signature: Signature
    where: str


def take_image(catalogue: ImageCatalogue, wanted: Intake, trust: ImageTrust, signer: ImageSigner) -> Image:
    """Add the image and return its entry. Everything that can be refused without the image is refused first.

    Raises:
        UsageError: neither digest nor signature, or an empty reason.
        ImageError: what is wrong with the image, its checksum or its signature; nothing of it is kept.
    """
    catalogue.require_absent(wanted.name, wanted.version)
    pins = _pins(wanted)
    publisher = _publisher(wanted, trust)
    if not pins and publisher is None:
        raise UsageError(
            "nothing to compare the image with", where=wanted.source,
            expected="--sha256 DIGEST, --checksums FILE|URL, or a signature by a trusted key (--signature FILE|URL)",
            hint="publishers have a SHA256SUMS file beside the image",
        )  # fmt: skip
    comment = _comment(wanted, publisher, trust)
    with scratch_directory(catalogue.root / wanted.name, ADDING, wanted.source) as scratch:
        source = scratch / "source"
        fetched = fetch(wanted.source, source, frozenset(pin.algorithm for pin in pins.values()))
        for told_by, pin in pins.items():
            _compare(wanted, told_by, pin, fetched.digests[pin.algorithm])
        if publisher is not None:
            check_signature(publisher.signature, publisher.key, source, publisher.where)
        source_format = detect_format(source, wanted.source)
        ready = _converted(source, scratch, wanted.source) if source_format == "qcow2" else source
        return catalogue.add(
            ready,
            name=wanted.name,
            version=wanted.version,
            file_sha256=digest_file(ready).sha256,
            provenance=Provenance(
                origin=wanted.source if is_url(wanted.source) else name_of(wanted.source),
                source_format=source_format,
                published=_published(pins),
                signer=signer if comment else None,
                comment=comment,
            ),
            where=wanted.source,
            is_ours=True,
        )


def _pins(wanted: Intake) -> dict[str, Checksum]:
    """The digests that the image must have, by who tells them."""
    pins = {}
    if wanted.sha256 is not None:
        pins["--sha256"] = parse_checksum(wanted.sha256, "--sha256")
    if wanted.checksums is not None:
        name = wanted.checksum_name or name_of(wanted.source)
        pins[wanted.checksums] = find_checksum(read_text(wanted.checksums), name, wanted.checksums)
    return pins


def _publisher(wanted: Intake, trust: ImageTrust) -> _Publisher | None:
    """Who signed the file as published: as told, else by the ``.minisig`` beside a local file."""
    where = wanted.signature
    if where is None and not is_url(wanted.source):
        beside = Path(wanted.source + SIGNATURE_SUFFIX)
        where = str(beside) if beside.is_file() else None
    if where is None:
        return None
    signature = parse_signature(read_text(where), where)
    known = trust.key(signature.key_id)
    if known is not None:
        return _Publisher(*known, signature, where)
    if wanted.signature is None:
        return None
    raise ImageError(
        "the image is signed by a key that this site does not trust", where=where,
        expected=", ".join(f"{name} ({key.id})" for name, key in trust.keys.items()) or "a key in site.yaml",
        found=f"key {signature.key_id}",
        hint="put the publisher's public key under images.trusted_keys in site.yaml, by a reviewed commit",
    )  # fmt: skip


def _comment(wanted: Intake, publisher: _Publisher | None, trust: ImageTrust) -> str:
    """What the signature of the entry says; empty: it gets none, which the site allows."""
    if wanted.vouch is not None:
        if not wanted.vouch.strip():
            raise UsageError(
                "--vouch wants a reason", where=wanted.ref, expected="why this image can be trusted",
                hint="such as: --vouch 'gpg --verify SHA512SUMS.sign is good'",
            )  # fmt: skip
        return f"vouched for: {wanted.vouch}"
    if publisher is not None:
        return f"signed by {publisher.name}, key {publisher.key.id}: {publisher.signature.comment}"
    if trust.may_be_unsigned:
        return ""
    raise ImageError(
        "nobody whom this site trusts vouches for the image", where=wanted.source,
        expected="a signature by a trusted key, or your own word", found="a digest alone",
        hint="--signature FILE|URL, or --vouch WHY, such as: --vouch 'gpg --verify SHA512SUMS.sign is good'",
    )  # fmt: skip


def _compare(wanted: Intake, told_by: str, pin: Checksum, found: str) -> None:
    if found != pin.digest:
        names = {"sha256": "SHA-256", "sha512": "SHA-512"}
        raise ImageError(
            f"the image file has the wrong {names[pin.algorithm]}", where=wanted.source,
            expected=f"{pin.digest} ({told_by})", found=found, hint=WRONG_DIGEST,
        )  # fmt: skip


def _converted(source: Path, scratch: Path, where: str) -> Path:
    """The raw disk inside a qcow2 file, compressed: holes cost nothing on the way to the nodes."""
    raw, packed = scratch / "disk.raw", scratch / "disk.raw.zst"
    convert_to_raw(source, raw, where)
    run_program(["zstd", "-q", f"-{ZSTD_LEVEL}", "-T0", str(raw), "-o", str(packed)], where=where)
    raw.unlink()
    return packed


def _published(pins: dict[str, Checksum]) -> PublishedDigest | None:
    for told_by, pin in reversed(pins.items()):
        algorithm = "sha512" if pin.algorithm == "sha512" else "sha256"
        return PublishedDigest(algorithm=algorithm, digest=pin.digest, source=told_by)
    return None
