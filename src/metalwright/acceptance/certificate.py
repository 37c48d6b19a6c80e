"""Certificates: made from results, signed with Ed25519, verified from the bytes that were signed."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from metalwright.acceptance.signing import SigningKey
from metalwright.acceptance.verdicts import overall
from metalwright.errors import AcceptanceError, LoadingError
from metalwright.loading import read_bytes
from metalwright.model.certificate import Certificate, PowerFigures, Signature, TestResult
from metalwright.model.digests import canonical_json

VALID_DAYS = 365
OTHER_VERSION = "was it made by another version of metalwright? that one reads it"
WANTED = "certificates are in .metalwright/acceptance/NODE/certificate.json, records of erasures in .metalwright/wipes"


def make_certificate(
    *,
    node: str,
    serials: Mapping[str, str],
    blueprint: str | None = None,
    recipe: str,
    image: str,
    tests: Sequence[TestResult],
    issued: datetime,
    power: PowerFigures | None = None,
    boot: str | None = None,
    valid_days: int = VALID_DAYS,
) -> Certificate:
    """An unsigned certificate; its verdict follows from the tests (pure). ``issued`` carries a time zone."""
    return Certificate(
        node=node,
        verdict=overall(tests),
        serials=dict(serials),
        blueprint=blueprint,
        recipe=recipe,
        image=image,
        tests=tuple(tests),
        power_w=power or PowerFigures(),
        boot=boot,
        issued=issued,
        expires=issued + timedelta(days=valid_days),
    )


def sign(certificate: Certificate, key: SigningKey) -> Certificate:
    """The certificate with its signature."""
    return certificate.model_copy(update={"signature": signature_of(certificate.to_json(), key)})


def signature_of(data: Mapping[str, Any], key: SigningKey) -> Signature:
    """The signature over a document, its member ``signature`` left out."""
    return Signature(key_id=key.key_id, value=base64.b64encode(key.sign(_signed_bytes(data))).decode())


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write it as readable JSON, atomically."""
    write_signed(certificate.to_json(), path)


def write_signed(data: Mapping[str, Any], path: Path) -> None:
    """Write a signed document as readable JSON, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def verify_certificate(path: Path, keys: Mapping[str, Ed25519PublicKey], *, now: datetime) -> Certificate:
    """The certificate in ``path``, when it is authentic, says one thing and is not expired; its verdict may be any.

    ``keys`` maps key ids to the public keys that are trusted. Raises :class:`AcceptanceError` for everything else.
    """
    data = read_signed(path, keys)
    try:
        certificate = Certificate.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise AcceptanceError(
            "not a certificate of this schema", where=str(path), found=str(error), hint=OTHER_VERSION
        ) from error
    if certificate.verdict != overall(certificate.tests):
        raise AcceptanceError(
            "the verdict does not follow from the tests",
            where=str(path),
            expected=overall(certificate.tests),
            found=certificate.verdict,
            hint=f"do not rely on it; `metalwright accept {certificate.node}` makes a new one",
        )
    if now >= certificate.expires:
        raise AcceptanceError(
            "the certificate is expired",
            where=str(path),
            expected=f"a date before {certificate.expires.isoformat()}",
            found=now.isoformat(),
            hint=f"`metalwright accept {certificate.node}` makes a new one",
        )
    return certificate


def read_signed(path: Path, keys: Mapping[str, Ed25519PublicKey]) -> dict[str, Any]:
    """The document in ``path``, authentic. Raises :class:`AcceptanceError`: unreadable, unsigned, or changed since."""
    data = _read(path)
    _check_signature(path, data, keys)
    return data


def _check_signature(path: Path, data: dict[str, Any], keys: Mapping[str, Ed25519PublicKey]) -> None:
    signature = data.get("signature")
    if not isinstance(signature, dict) or set(signature) != {"alg", "key_id", "value"}:
        raise AcceptanceError(
            "the certificate is not signed", where=str(path), hint="only a signed one proves anything"
        )
    key = keys.get(str(signature["key_id"]))
    if signature["alg"] != "ed25519" or key is None:
        raise AcceptanceError(
            "the certificate is signed with a key that is not trusted here",
            where=str(path),
            expected=f"ed25519 with one of {', '.join(sorted(keys)) or 'no key at all'}",
            found=f"{signature['alg']} {signature['key_id']}",
            hint="copy the public key of the site that issued it into inventory/certificate-keys/",
        )
    try:
        key.verify(_decode(str(signature["value"])), _signed_bytes(data))
    except (InvalidSignature, ValueError) as error:
        raise AcceptanceError(
            "the signature does not fit the certificate",
            where=str(path),
            found="the file was changed after it was signed, or is damaged",
            hint="do not rely on it; fetch it again from whoever issued it",
        ) from error


def _signed_bytes(data: Mapping[str, Any]) -> bytes:
    return canonical_json({key: value for key, value in data.items() if key != "signature"})


def _decode(text: str) -> bytes:
    """Base64 in its one canonical form."""
    try:
        value = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if base64.b64encode(value).decode() != text:
        raise ValueError("not canonical base64")
    return value


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path, root=None), object_pairs_hook=_no_duplicates)
    except LoadingError as error:
        raise AcceptanceError(
            error.what, where=str(path), expected=error.expected, found=error.found, hint=error.hint
        ) from error
    except (ValueError, RecursionError) as error:
        raise AcceptanceError(
            "the certificate cannot be read", where=str(path), found=str(error), hint=WANTED
        ) from error
    if not isinstance(data, dict):
        raise AcceptanceError("the file holds no certificate", where=str(path), expected="a JSON object", hint=WANTED)
    return data


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers must not see two certificates in one file."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found
