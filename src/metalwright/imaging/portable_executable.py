"""EFI programs: which processor they are for, and who signed them (Authenticode).

Only what the file says of itself is read: that a signature is there and is of this very file. Whether its key is
trusted, only the firmware that boots it can tell.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import NameOID

_MACHINES: Final = {0x8664: "x86_64", 0xAA64: "aarch64", 0x14C: "i386", 0x1C2: "arm"}
_MACHINE_OFFSET, _OPTIONAL_OFFSET = 4, 24
_CHECKSUM_OFFSET: Final = 64
_DIRECTORIES: Final = {0x20B: 112, 0x10B: 96}
_CERTIFICATES: Final = 4
_PKCS_SIGNED_DATA: Final = 2
_SHIM_GENERATION: Final = b"\nshim,"  # its line in the table of revoked generations (SBAT)


class Signer(NamedTuple):
    """A certificate that a program is signed with, by the common names of its subject and of its issuer."""

    name: str
    issuer: str


class EfiProgram(NamedTuple):
    """``architecture`` is None for a processor that nobody knows; ``is_shim``: it carries keys of its own."""

    architecture: str | None
    signers: tuple[Signer, ...]
    is_shim: bool


def read_program(data: bytes) -> EfiProgram | None:
    """What ``data`` is; None when it is no EFI program, or a damaged one."""
    try:
        return _read(data)
    except (struct.error, ValueError, KeyError):
        return None


def _read(data: bytes) -> EfiProgram | None:
    if data[:2] != b"MZ":
        return None
    pe = struct.unpack_from("<I", data, 0x3C)[0]
    if data[pe : pe + 4] != b"PE\0\0":
        return None
    machine = struct.unpack_from("<H", data, pe + _MACHINE_OFFSET)[0]
    optional = pe + _OPTIONAL_OFFSET
    entry = optional + _DIRECTORIES[struct.unpack_from("<H", data, optional)[0]] + 8 * _CERTIFICATES
    start, size = struct.unpack_from("<II", data, entry)
    signers = _signers(data, optional + _CHECKSUM_OFFSET, entry, start, size) if size else ()
    return EfiProgram(_MACHINES.get(machine), signers, _SHIM_GENERATION in data)


def _signers(data: bytes, checksum: int, entry: int, start: int, size: int) -> tuple[Signer, ...]:
    """The signers of every signature whose digest is that of this file."""
    if start + size > len(data):
        raise ValueError("the signatures are cut off")
    signed = hashlib.sha256(data[:checksum] + data[checksum + 4 : entry] + data[entry + 8 : start])
    digest, found, position = signed.digest(), [], start
    while position + 8 <= start + size:
        length, _, kind = struct.unpack_from("<IHH", data, position)
        signature = _trimmed(data[position + 8 : position + length])
        if kind == _PKCS_SIGNED_DATA and digest in signature:
            found += [_signer(certificate) for certificate in _leaves(signature)]
        position += max(8, length + -length % 8)
    return tuple(found)


def _trimmed(signature: bytes) -> bytes:
    """The DER value without the padding behind it."""
    if len(signature) < 4 or signature[1] & 0x80 == 0:
        return signature
    count = signature[1] & 0x7F
    return signature[: 2 + count + int.from_bytes(signature[2 : 2 + count], "big")]


def _leaves(signature: bytes) -> list[x509.Certificate]:
    """The certificates of a signature that issued none of the others."""
    certificates = pkcs7.load_der_pkcs7_certificates(signature)
    issuers = {certificate.issuer for certificate in certificates if certificate.issuer != certificate.subject}
    return [item for item in certificates if item.subject not in issuers] or certificates


def _signer(certificate: x509.Certificate) -> Signer:
    return Signer(_common_name(certificate.subject), _common_name(certificate.issuer))


def _common_name(name: x509.Name) -> str:
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else name.rfc4514_string()
