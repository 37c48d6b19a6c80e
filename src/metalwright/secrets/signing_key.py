"""Ed25519 keys that sign what a site makes, kept as files of its state."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from metalwright.errors import SecretError


def ensure_signing_key(path: Path) -> Ed25519PrivateKey:
    """The private key in ``path`` (PEM), made at first use with mode 0600; of two processes that make it, one wins.

    Raises:
        SecretError: the file cannot be read or written, or holds something else.
    """
    try:
        if not path.exists():
            _make(path)
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SecretError("the signing key cannot be used", where=str(path), found=str(error)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise SecretError("the signing key is of another kind", where=str(path), expected="Ed25519")
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(temporary, path)
    except FileExistsError:
        return
    finally:
        Path(temporary).unlink()
