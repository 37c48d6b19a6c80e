"""The Ed25519 key of a site that signs its certificates, and the public keys that are trusted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from metalwright.errors import AcceptanceError, SecretError
from metalwright.secrets.signing_key import ensure_signing_key

KEY_NAME = "certificate.key"
PUBLIC_KEY_SUFFIX = ".pem"
PUBLIC_KEY = "copy certificate.pem of the site that issues them, as it is"


class SigningKey:
    """A private key that never leaves this object in text or ``repr``."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key()
        self.key_id = key_id_of(self.public)

    def sign(self, data: bytes) -> bytes:
        """The 64 bytes of the signature."""
        return self._private.sign(data)

    def __repr__(self) -> str:
        return f"SigningKey({self.key_id})"


def key_id_of(public: Ed25519PublicKey) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the raw public key."""
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:16]


def site_signing_key(state_dir: Path) -> SigningKey:
    """The key in ``<state_dir>/certificate.key``, made at first use (mode 0600), its public half beside it.

    Of two processes that make it at once, one wins and both use its key. Raises :class:`AcceptanceError`.
    """
    path = state_dir / KEY_NAME
    is_new = not path.exists()
    try:
        key = SigningKey(ensure_signing_key(path))
    except SecretError as error:
        raise AcceptanceError(
            "the key for certificates cannot be used",
            where=error.where,
            expected=error.expected,
            found=error.found,
            hint=error.hint,
        ) from error
    if is_new:
        path.with_suffix(".pem").write_bytes(public_pem(key))
    return key


def public_pem(key: SigningKey) -> bytes:
    """The public half, as PEM: the form that ``inventory/certificate-keys/`` holds."""
    return key.public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def trusted_keys(places: Iterable[Path]) -> dict[str, Ed25519PublicKey]:
    """Key id → public key, from PEM files and the ``*.pem`` files of directories; places that are not there are empty.

    Raises :class:`AcceptanceError` for a file that holds no Ed25519 public key.
    """
    keys = {}
    for place in places:
        files = sorted(place.glob(f"*{PUBLIC_KEY_SUFFIX}")) if place.is_dir() else [place] if place.exists() else []
        for file in files:
            key = _load_public(file)
            keys[key_id_of(key)] = key
    return keys


def _load_public(path: Path) -> Ed25519PublicKey:
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        raise AcceptanceError(
            "this is no public key", where=str(path), expected="PEM", found=str(error), hint=PUBLIC_KEY
        ) from error
    if not isinstance(key, Ed25519PublicKey):
        raise AcceptanceError("a public key of another kind", where=str(path), expected="Ed25519", hint=PUBLIC_KEY)
    return key
