"""Self-signed certificates, as BMCs have them from the factory."""

from __future__ import annotations

import datetime
import os
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM_FILE = "bmc.pem"


def ensure_certificate(folder: Path, common_name: str, *, renew: bool = False) -> Path:
    """The PEM file (key and certificate, mode 0600) in ``folder``, made when missing or to be renewed."""
    path = folder / PEM_FILE
    if path.exists() and not renew:
        return path
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    return write_pem(folder, pem)


def write_pem(folder: Path, pem: bytes) -> Path:
    """Keep key and certificate in ``folder``; the file, mode 0600."""
    path = folder / PEM_FILE
    draft = path.with_suffix(".pem.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(pem)
    draft.replace(path)
    return path


def server_context(pem: Path) -> ssl.SSLContext:
    """A TLS server context for the key and certificate in ``pem``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
