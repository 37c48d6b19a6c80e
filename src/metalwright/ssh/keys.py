"""The key that metalwright itself logs in with: the operator's own file, or one made for the site."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from metalwright.errors import SshAuthError
from metalwright.loading import SitePaths
from metalwright.model.site import Site


def login_key_path(site: Site, paths: SitePaths) -> Path:
    """The private key to log in to nodes with: the one that the site names, else its own, which may not be made yet."""
    if site.ssh.private_key is not None:
        return (paths.root / Path(site.ssh.private_key).expanduser()).resolve()
    return (paths.state / "ssh" / "id_ed25519").resolve()


def ensure_private_key(path: Path) -> Path:
    """Make an Ed25519 key at ``path`` (mode 0600) when there is none; of two processes that do, one wins."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    text = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    try:
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    return path


def public_half(path: Path) -> str:
    """The ``TYPE BASE64`` line of the private key in ``path``.

    Raises:
        SshAuthError: no file, or not an unencrypted OpenSSH private key.
    """
    try:
        key = load_ssh_private_key(path.read_bytes(), password=None)
        return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SshAuthError(
            "the private SSH key cannot be used",
            where=str(path),
            expected="an unencrypted private key in OpenSSH format",
            found=f"{type(error).__name__}: {error}",
            hint="name another one in site.yaml ssh.private_key, or leave it out to have one made",
        ) from error
