"""The boot server's own TLS key and certificate, made once; agents pin the certificate, whatever its name or date."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NOT_BEFORE = datetime(2000, 1, 1, tzinfo=UTC)
_NOT_AFTER = datetime(2100, 1, 1, tzinfo=UTC)


class ServerCertificate(NamedTuple):
    """Paths of the PEM files of key (mode 0600) and certificate."""

    key_path: Path
    cert_path: Path

    @property
    def cert_pem(self) -> str:
        """The certificate, as media carry it."""
        return self.cert_path.read_text()


def load_server_certificate(directory: Path) -> ServerCertificate:
    """Return the certificate kept in ``directory``, making it at first use.

    The pair is linked into place as one file, so that two processes starting together end up with the same key.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    pair_path = directory / "server.pem"
    if not pair_path.exists():
        _write_new_pair(pair_path)
    cert_path = directory / "cert.pem"
    certificate = x509.load_pem_x509_certificate(pair_path.read_bytes())
    _replace_file(cert_path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return ServerCertificate(pair_path, cert_path)


def _write_new_pair(path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    _replace_file(temporary, key_pem + _self_signed(key).public_bytes(serialization.Encoding.PEM), 0o600)
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass  # another process was first: its key counts
    finally:
        temporary.unlink()


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "metalwright boot server")])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _replace_file(path: Path, content: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(fd, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
