"""The secrets of one boot medium. Stores keep their SHA-256; the secret URL paths are derived from the token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

_TOKEN_BYTES = 32
_NONCE_BYTES = 32


class MediumSecrets(NamedTuple):
    """What only the medium (and, on its way there, the controller's memory) carries."""

    token: str
    nonce: str

    def __repr__(self) -> str:
        return "MediumSecrets(…)"

    @property
    def media_secret(self) -> str:
        """The unguessable part of the medium's own URL."""
        return _derive(self.token, "media")

    @property
    def image_secret(self) -> str:
        """The unguessable part of the image's URL."""
        return image_secret(self.token)


def make_secrets() -> MediumSecrets:
    """Make the secrets of a new medium."""
    return MediumSecrets(secrets.token_urlsafe(_TOKEN_BYTES), secrets.token_hex(_NONCE_BYTES))


def image_secret(token: str) -> str:
    """Return the unguessable part of the image's URL for the bearer of ``token``."""
    return _derive(token, "image")


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a secret, as stores keep it."""
    return hashlib.sha256(text.encode()).hexdigest()


def is_same_secret(text: str, expected_sha256: str) -> bool:
    """Whether ``text`` hashes to ``expected_sha256``, in constant time."""
    return hmac.compare_digest(sha256_hex(text), expected_sha256)


def _derive(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), f"metalwright/{purpose}".encode(), hashlib.sha256).hexdigest()
