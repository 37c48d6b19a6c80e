"""Who signs the certificates of BMCs: an authority of the site's own in its secret store, or a program of the site.

Only the public key of a signing request is believed; subject and names are what the site wants.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from metalwright.errors import SecretError
from metalwright.loading.files import write_atomically
from metalwright.model.site import CertificateSubject, Site
from metalwright.secrets.programs import run_program
from metalwright.secrets.store import SecretStore
from metalwright.secrets.value import Secret

AUTHORITY_NAME = "bmc-ca"
AUTHORITY_FILE = "bmc-ca.pem"
AUTHORITY_DAYS = 7300
EARLIER = timedelta(hours=1)
"""How much earlier a certificate begins to be valid: the clocks of BMCs differ."""
MAX_COMMON_NAME = 64


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a certificate says: its ``names`` (addresses or DNS names; the first is the subject's) and its validity."""

    names: tuple[str, ...]
    subject: CertificateSubject
    valid_days: int
    renew_days: int

    @property
    def common_name(self) -> str:
        """The first name that X.509 has room for."""
        return next(name for name in self.names if len(name) <= MAX_COMMON_NAME)


class Authority(Protocol):
    """Signs. Every method may raise SecretError."""

    def title(self) -> str:
        """How it is called in a diff."""

    def sign(self, request: x509.CertificateSigningRequest, wanted: Wanted) -> list[x509.Certificate]:
        """Return a certificate for the key of ``request``, and what a client needs to check it, if anything."""

    def objection(self, certificate: x509.Certificate) -> str | None:
        """Why a certificate is not one of this authority's; None where it is, as far as can be told."""


class OwnAuthority:
    """The site's own: made when it is first needed. ``folder`` gets its public certificate, for browsers."""

    def __init__(self, store: SecretStore, site_name: str, folder: Path) -> None:
        self._store = store
        self._site_name = site_name
        self._folder = folder

    def title(self) -> str:
        """The site's own."""
        return "the site's own authority"

    def sign(self, request: x509.CertificateSigningRequest, wanted: Wanted) -> list[x509.Certificate]:
        """Sign with the key of the secret store."""
        key, own = self._opened(wanted.valid_days)
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject_of(wanted))
            .issuer_name(own.subject)
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - EARLIER)
            .not_valid_after(now + timedelta(days=wanted.valid_days))
            .add_extension(alternatives_of(wanted), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        return [builder.sign(key, hashes.SHA256())]

    def objection(self, certificate: x509.Certificate) -> str | None:
        """Check the signature."""
        kept = self._kept()
        if kept is None:
            return "signed by another authority"
        try:
            certificate.verify_directly_issued_by(kept[1])
        except (ValueError, TypeError, InvalidSignature):
            return "signed by another authority"
        return None

    def _opened(self, valid_days: int) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
        """Key and certificate of the authority; made anew where it ends before what it is to sign."""
        with self._store.exclusive():
            kept = self._kept()
            ends_at = datetime.now(UTC) + timedelta(days=valid_days)
            if kept is None or kept[1].not_valid_after_utc <= ends_at:
                kept = _make_authority(self._site_name)
                self._store.put(AUTHORITY_NAME, Secret(_pem_of_key(kept[0]) + pem_of(kept[1])))
        write_atomically(self._folder / AUTHORITY_FILE, pem_of(kept[1]))
        return kept

    def _kept(self) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate] | None:
        secret = self._store.get(AUTHORITY_NAME)
        if secret is None:
            return None
        try:
            key = serialization.load_pem_private_key(secret.reveal().encode(), None)
            own = x509.load_pem_x509_certificate(secret.reveal().encode())
        except ValueError:
            key, own = None, None
        if own is None or not isinstance(key, ec.EllipticCurvePrivateKey):
            raise SecretError(
                "the key of the site's certificate authority cannot be read",
                where=AUTHORITY_NAME,
                expected="an EC key and a certificate, PEM",
                hint="restore the secret store",
            )
        return key, own


class ProgramAuthority:
    """A program of the site: the signing request on stdin, the certificate on stdout, both PEM."""

    def __init__(self, command: str) -> None:
        self._command = command

    def title(self) -> str:
        """The program, without its arguments."""
        return f"command:{self._command.split(maxsplit=1)[0]}"

    def sign(self, request: x509.CertificateSigningRequest, wanted: Wanted) -> list[x509.Certificate]:
        """Run the program."""
        del wanted
        text = request.public_bytes(serialization.Encoding.PEM).decode()
        answer = run_program(self._command, stdin=text, where=self.title())
        try:
            return x509.load_pem_x509_certificates(answer.encode())
        except ValueError:
            raise SecretError(
                "the certificate authority's program printed no certificate",
                where=self.title(),
                expected="a certificate, PEM",
                hint="run it by hand with a signing request on stdin",
            ) from None

    def objection(self, certificate: x509.Certificate) -> str | None:
        """Only that nobody signed it can be told."""
        return "signed by itself" if certificate.issuer == certificate.subject else None


def authority_of(site: Site, store: SecretStore, folder: Path) -> Authority:
    """Return who signs for a site that declares ``hardening.certificate``."""
    declared = site.hardening.certificate
    if declared is None or declared.ca == "own":
        return OwnAuthority(store, site.name, folder)
    return ProgramAuthority(declared.ca.removeprefix("command:"))


def make_request(wanted: Wanted) -> tuple[str, x509.CertificateSigningRequest]:
    """Return a new private key (PEM) and its signing request, for a BMC that makes none itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject_of(wanted))
    builder = builder.add_extension(alternatives_of(wanted), critical=False)
    return _pem_of_key(key), builder.sign(key, hashes.SHA256())


def check_signed(
    certificate: x509.Certificate, request: x509.CertificateSigningRequest, wanted: Wanted, where: str
) -> None:
    """Refuse a certificate that would not work, before a BMC gets it. Raises SecretError."""
    objections = objections_to(certificate, wanted, datetime.now(UTC))
    if certificate.public_key() != request.public_key():
        objections.insert(0, "it is for another key than the BMC's")
    if certificate.not_valid_before_utc > datetime.now(UTC):
        objections.append(f"it is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC")
    if objections:
        raise SecretError(
            "what the certificate authority signed cannot be used; the BMC keeps its certificate",
            where=where,
            expected=f"a certificate for {', '.join(wanted.names)} and more than {wanted.renew_days} days",
            found="; ".join(objections),
            hint="let the authority keep the names of the request, and a validity longer than renew_days",
        )


def objections_to(certificate: x509.Certificate, wanted: Wanted, now: datetime) -> list[str]:
    """Return why a certificate must be renewed, whoever signed it; empty where it is as wanted."""
    missing = [name for name in wanted.names if name not in names_in(certificate)]
    found = [f"does not name {name}" for name in missing]
    days = (certificate.not_valid_after_utc - now) // timedelta(days=1)
    if days < 0:
        found.append(f"expired on {certificate.not_valid_after_utc:%Y-%m-%d}")
    elif days < wanted.renew_days:
        found.append(f"expires in {days} days")
    return found


def names_in(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the addresses and DNS names that a certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return ()
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    return (*addresses, *names.get_values_for_type(x509.DNSName))


def subject_of(wanted: Wanted) -> x509.Name:
    """Return the subject."""
    subject = wanted.subject
    parts = [
        (NameOID.COUNTRY_NAME, subject.country),
        (NameOID.STATE_OR_PROVINCE_NAME, subject.state),
        (NameOID.LOCALITY_NAME, subject.city),
        (NameOID.ORGANIZATION_NAME, subject.organization),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, subject.unit),
        (NameOID.COMMON_NAME, wanted.common_name),
    ]
    return x509.Name([x509.NameAttribute(oid, text) for oid, text in parts])


def alternatives_of(wanted: Wanted) -> x509.SubjectAlternativeName:
    """Return the names."""
    return x509.SubjectAlternativeName([_alternative(name) for name in wanted.names])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def pem_of(*certificates: x509.Certificate) -> str:
    """Return certificates as text."""
    return "".join(item.public_bytes(serialization.Encoding.PEM).decode() for item in certificates)


def _pem_of_key(key: ec.EllipticCurvePrivateKey) -> str:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem.decode()


def _make_authority(site_name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"BMCs of {site_name} {now:%Y-%m-%d}"[:MAX_COMMON_NAME])])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return key, builder.sign(key, hashes.SHA256())
