"""The default store: one encrypted file (AES-256-GCM, key by scrypt), written whole or not at all.

::

    {"magic": "metalwright-secrets", "schema": 1, "salt": …, "key_check": …, "nonce": …, "ciphertext": …}

``key_check`` tells a wrong key from a damaged file.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import Base64Bytes, Field, ValidationError

from metalwright.errors import LoadingError, SecretError
from metalwright.loading.files import write_atomically
from metalwright.model.base import Frozen
from metalwright.model.digests import canonical_json
from metalwright.secrets.store import StoreLock
from metalwright.secrets.value import Secret

_DAMAGED_HINT = "nothing was touched; restore the file from a backup, or reset the BMC passwords at the machines"


class _Envelope(Frozen):
    magic: Literal["metalwright-secrets"]
    schema_version: Literal[1] = Field(alias="schema")
    salt: Base64Bytes
    key_check: str
    nonce: Base64Bytes
    ciphertext: Base64Bytes


class EncryptedFileStore:
    """Secrets in one file with mode 0600, read anew for every call."""

    def __init__(self, path: Path, key: Secret) -> None:
        self._path = path
        self._key = key
        self._lock = StoreLock(path.with_name(f"{path.name}.lock"))
        self._derived: dict[bytes, bytes] = {}

    def get(self, name: str) -> Secret | None:
        """Return a secret. Raises SecretError for a wrong key or a damaged file."""
        text = self._read().get(name)
        return None if text is None else Secret(text)

    def put(self, name: str, value: Secret) -> None:
        """Keep a secret; durable when this returns."""
        with self.exclusive():
            self._write({**self._read(), name: value.reveal()})

    def exclusive(self) -> AbstractContextManager[None]:
        """Let nobody else write during the block."""
        return self._lock.held()

    def _read(self) -> dict[str, str]:
        envelope = self._envelope()
        if envelope is None:
            return {}
        key = self._derive(envelope.salt)
        if not hmac.compare_digest(envelope.key_check, _key_check(key)):
            raise SecretError(
                "the key does not open the secret store",
                where=str(self._path),
                hint="use the key that the store was made with (site.yaml: secrets.key)",
            )
        try:
            plain = AESGCM(key).decrypt(envelope.nonce, envelope.ciphertext, _header(envelope.salt))
        except (InvalidTag, ValueError) as error:
            raise self._damaged("content that was altered") from error
        return {str(name): str(text) for name, text in json.loads(plain).items()}

    def _envelope(self) -> _Envelope | None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SecretError("the secret store cannot be read", where=str(self._path), found=error.strerror) from error
        try:
            return _Envelope.model_validate_json(data)
        except ValidationError:
            raise self._damaged("an empty file" if not data else "something else, or a part of it") from None

    def _write(self, secrets: dict[str, str]) -> None:
        known = self._envelope()
        salt = os.urandom(16) if known is None else known.salt
        key, nonce = self._derive(salt), os.urandom(12)
        ciphertext = AESGCM(key).encrypt(nonce, canonical_json(secrets), _header(salt))
        fields = {"salt": salt, "nonce": nonce, "ciphertext": ciphertext}
        content = {name: base64.b64encode(value).decode() for name, value in fields.items()}
        whole = {"magic": "metalwright-secrets", "schema": 1, "key_check": _key_check(key), **content}
        try:
            write_atomically(self._path, json.dumps(whole, indent=1) + "\n", 0o600)
        except LoadingError as error:
            raise SecretError(
                "the secret store cannot be written", where=str(self._path), found=error.found, hint=error.hint
            ) from error

    def _derive(self, salt: bytes) -> bytes:
        if salt not in self._derived:
            key = hashlib.scrypt(self._key.reveal().encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
            self._derived[salt] = key
        return self._derived[salt]

    def _damaged(self, found: str) -> SecretError:
        return SecretError(
            "the secret store is damaged", where=str(self._path), expected="a store", found=found, hint=_DAMAGED_HINT
        )


def _key_check(key: bytes) -> str:
    return hmac.new(key, b"metalwright key check", hashlib.sha256).hexdigest()[:16]


def _header(salt: bytes) -> bytes:
    return b"metalwright-secrets 1 " + salt
