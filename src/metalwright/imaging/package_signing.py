"""The OpenPGP key that signs package mirrors, kept as a file of the site; apt on the nodes trusts its public half."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from metalwright.imaging.programs import run_program

KEY_NAME = "packages.key"
_USER = "metalwright package mirror"


@dataclass(frozen=True)
class PackageKey:
    """``key_id`` is the fingerprint, ``public`` the ASCII-armoured public key for ``/etc/apt/keyrings``."""

    key_id: str
    public: str
    _secret: str = field(repr=False)

    def clear_sign(self, text: str) -> str:
        """``text`` inside an OpenPGP clear-signature."""
        with _gpg_home() as gpg:
            run_program([*gpg, "--import"], where="package key", stdin=self._secret)
            return run_program([*gpg, "--armor", "--clear-sign"], where="package index", stdin=text)


def site_package_key(state_dir: Path) -> PackageKey:
    """The key in ``<state_dir>/packages.key``, made at first use (mode 0600). Raises :class:`ImageError`."""
    path = state_dir / KEY_NAME
    if not path.exists():
        _make_key(path)
    secret = path.read_text(encoding="utf-8")
    with _gpg_home() as gpg:
        run_program([*gpg, "--import"], where=str(path), stdin=secret)
        listing = run_program([*gpg, "--with-colons", "--list-keys"], where=str(path))
        public = run_program([*gpg, "--armor", "--export"], where=str(path))
    fingerprint = next(line.split(":")[9] for line in listing.splitlines() if line.startswith("fpr:"))
    return PackageKey(fingerprint, public, secret)


def _make_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with _gpg_home() as gpg:
        run_program([*gpg, "--quick-generate-key", _USER, "ed25519", "sign", "never"], where=str(path))
        secret = run_program([*gpg, "--armor", "--export-secret-keys"], where=str(path))
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{KEY_NAME}.", delete=False) as stream:  # mode 0600
        stream.write(secret)
    Path(stream.name).replace(path)


@contextmanager
def _gpg_home() -> Iterator[list[str]]:
    """The beginning of a gpg command with a keyring of its own, gone afterwards (its agent needs a short path)."""
    with tempfile.TemporaryDirectory(prefix="mw-gpg-") as home:
        yield ["gpg", "--homedir", home, "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
        run_program(["gpgconf", "--homedir", home, "--kill", "all"], where="gpg")
