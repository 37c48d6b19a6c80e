"""Signatures in the format of minisign (Ed25519), so that its own program can make and check them.

A signature covers the file (or its BLAKE2b-512, the usual form since minisign 0.10), a second one covers the first and
the trusted comment. https://jedisct1.github.io/minisign/ describes the format.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from metalwright.errors import ImageError

_LEGACY, _PREHASHED = b"Ed", b"ED"
_KEY_ID: Final = slice(2, 10)
_KEY_BYTES, _SIGNATURE_BYTES, _GLOBAL_BYTES = 42, 74, 64
_UNTRUSTED, _TRUSTED = "untrusted comment: ", "trusted comment: "
_LARGEST_LEGACY_BYTES: Final = 1 << 30


class PublicKey(NamedTuple):
    """A public key; ``raw`` is the 42 bytes that minisign writes as base64."""

    raw: bytes

    @property
    def id(self) -> str:
        """The id as minisign shows it: hexadecimal, without leading zeros."""
        return _shown(self.raw[_KEY_ID])

    @property
    def text(self) -> str:
        """The line that goes into ``site.yaml``."""
        return base64.b64encode(self.raw).decode()

    @property
    def file_text(self) -> str:
        """What minisign keeps as a ``.pub`` file."""
        return f"{_UNTRUSTED}minisign public key {self.id}\n{self.text}\n"


class Signature(NamedTuple):
    """A signature file, taken apart; ``comment`` is the trusted one."""

    raw: bytes
    comment: str
    over_comment: bytes

    @property
    def key_id(self) -> str:
        """Which key it was made with."""
        return _shown(self.raw[_KEY_ID])

    @property
    def is_prehashed(self) -> bool:
        """Whether it covers the BLAKE2b-512 of the file instead of the file."""
        return self.raw[:2] == _PREHASHED


def parse_public_key(text: str, where: str) -> PublicKey:
    """A public key: the base64 line, or a whole ``.pub`` file. Raises :class:`ImageError`."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    raw = _decoded(lines[-1]) if lines else b""
    if len(raw) != _KEY_BYTES or raw[:2] != _LEGACY:
        raise ImageError(
            "this is no minisign public key", where=where, expected="56 characters of base64, the first RW",
            found=lines[-1][:80] if lines else "nothing",
            hint="it is the second line of the .pub file; the secret key has no business here",
        )  # fmt: skip
    return PublicKey(raw)


def parse_signature(text: str, where: str) -> Signature:
    """A ``.minisig`` file. Raises :class:`ImageError`."""
    lines = text.strip().splitlines()
    raw, over_comment = (_decoded(lines[1]), _decoded(lines[3])) if len(lines) == 4 else (b"", b"")
    is_whole = len(raw) == _SIGNATURE_BYTES and len(over_comment) == _GLOBAL_BYTES
    if not is_whole or raw[:2] not in (_LEGACY, _PREHASHED) or not lines[2].startswith(_TRUSTED):
        raise ImageError(
            "this is no minisign signature", where=where, expected="the four lines of a .minisig file",
            found=(lines[0][:80] if lines else "an empty file"),
            hint="a signature of gpg (.asc, .sign, .gpg) is checked with gpg, and then vouched for: --vouch WHY",
        )  # fmt: skip
    return Signature(raw, lines[2].removeprefix(_TRUSTED), over_comment)


def public_key_of(private: Ed25519PrivateKey) -> PublicKey:
    """The public half; its id is taken from the key itself."""
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return PublicKey(_LEGACY + hashlib.sha256(raw).digest()[:8] + raw)


def sign_file(private: Ed25519PrivateKey, path: Path, comment: str) -> str:
    """The text of a ``.minisig`` file for ``path``; ``comment`` is the trusted one, on one line."""
    key = public_key_of(private)
    line = " ".join(comment.split())
    raw = _PREHASHED + key.raw[_KEY_ID] + private.sign(_prehash(path))
    over = private.sign(raw[10:] + line.encode())
    untrusted = f"{_UNTRUSTED}signature from metalwright, key {key.id}"
    return f"{untrusted}\n{base64.b64encode(raw).decode()}\n{_TRUSTED}{line}\n{base64.b64encode(over).decode()}\n"


def check_signature(signature: Signature, key: PublicKey, path: Path, where: str) -> None:
    """Prove that ``signature`` is of the file ``path`` by ``key``. Raises :class:`ImageError`."""
    public = Ed25519PublicKey.from_public_bytes(key.raw[10:])
    if not signature.is_prehashed and path.stat().st_size > _LARGEST_LEGACY_BYTES:
        raise ImageError(
            "the signature is of the old kind, which needs the whole file in memory", where=where,
            expected="a prehashed signature", hint="sign it again with minisign 0.10 or newer",
        )  # fmt: skip
    message = _prehash(path) if signature.is_prehashed else path.read_bytes()
    try:
        public.verify(signature.raw[10:], message)
        public.verify(signature.over_comment, signature.raw[10:] + signature.comment.encode())
    except InvalidSignature:
        raise ImageError(
            "the signature is not of this file", where=where, expected=f"a signature by key {key.id}",
            found="file, signature or trusted comment were changed",
            hint="fetch file and signature again, from the same place",
        ) from None  # fmt: skip


def _prehash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=64)).digest()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _shown(key_id: bytes) -> str:
    return f"{int.from_bytes(key_id, 'little'):X}"
