"""The certificate of a BMC's web server: a signing request is made here, and what was signed is taken or refused."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT, Bmc, TaskRecord
from metalwright.simulator.service.routes import Answer, Call

GENERATE = "CertificateService.GenerateCSR"
REPLACE = "CertificateService.ReplaceCertificate"
NEEDED = ("CertificateCollection", "CommonName", "Country", "State", "City", "Organization", "OrganizationalUnit")
"""What the standard demands of a signing request."""

_NAMES = {
    "CommonName": NameOID.COMMON_NAME,
    "Organization": NameOID.ORGANIZATION_NAME,
    "OrganizationalUnit": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "City": NameOID.LOCALITY_NAME,
    "State": NameOID.STATE_OR_PROVINCE_NAME,
    "Country": NameOID.COUNTRY_NAME,
}


async def generate(call: Call) -> Answer:
    """Make a key that never leaves the BMC, and answer its signing request; only the last one counts."""
    for name in NEEDED:
        if name not in call.body:
            raise refuse("ActionParameterMissing", GENERATE, name)
    key = ec.generate_private_key(ec.SECP256R1())
    call.bmc.waiting_key = _pem_of(key)
    request = x509.CertificateSigningRequestBuilder().subject_name(_name_of(call.body))
    alternatives = [_alternative(str(text)) for text in call.body.get("AlternativeNames", [])]
    if alternatives:
        request = request.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    text = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    result = {"CertificateCollection": call.body["CertificateCollection"], "CSRString": text}
    if call.bmc.system.faults.take("request-by-task") is None:
        return Answer(result)
    task = TaskRecord(f"CSR{len(call.bmc.tasks) + 1}", "Signing request", call.bmc.system.now(), result=result)
    call.bmc.tasks[task.id] = task
    return Answer(status=202, headers={"Location": f"{ROOT}/TaskService/TaskMonitors/{task.id}"})


async def replace(call: Call) -> Answer:
    """Take a certificate that fits the waiting key, or one that brings its key; the web server goes on with it."""
    for name in ("CertificateString", "CertificateType", "CertificateUri"):
        if name not in call.body:
            raise refuse("ActionParameterMissing", REPLACE, name)
    if call.body["CertificateType"] != "PEM":
        raise refuse("ActionParameterValueNotInList", call.body["CertificateType"], "CertificateType", REPLACE)
    pem = _with_key(call.bmc, str(call.body["CertificateString"]))
    call.bmc.waiting_key = b""
    if call.bmc.system.faults.take("certificate-ignored") is None:
        task = asyncio.get_running_loop().create_task(_install(call.bmc, pem))
        call.bmc.background.add(task)
        task.add_done_callback(call.bmc.background.discard)
    return Answer(status=204)


async def _install(bmc: Bmc, pem: bytes) -> None:
    late = bmc.system.faults.take("certificate-late")
    if late is not None:
        await asyncio.sleep(late.seconds)
    if bmc.mover is not None:
        await bmc.mover.install_certificate(pem)
        bmc.system.log.add("CertificateChanged")


def describe(bmc: Bmc) -> Json:
    """The properties of the resource of the certificate that is served now."""
    pem = bmc.mover.certificate() if bmc.mover is not None else b""
    if not pem:
        return {"CertificateType": "PEM", "CertificateString": None}
    shown = x509.load_pem_x509_certificate(pem)
    return {
        "CertificateType": "PEM",
        "CertificateString": shown.public_bytes(serialization.Encoding.PEM).decode(),
        "Issuer": _parts(shown.issuer),
        "Subject": _parts(shown.subject),
        "ValidNotBefore": shown.not_valid_before_utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "ValidNotAfter": shown.not_valid_after_utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }


def _with_key(bmc: Bmc, text: str) -> bytes:
    """Key and certificates as the web server loads them; refuses what does not fit together."""
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
        key_pem = text.encode() if "PRIVATE KEY" in text else bmc.waiting_key
        key = serialization.load_pem_private_key(key_pem, None)
    except ValueError:
        raise refuse("PropertyValueError", "CertificateString", about="CertificateString") from None
    if key.public_key() != certificate.public_key():
        raise refuse("PropertyValueError", "CertificateString", about="CertificateString")
    return text.encode() if "PRIVATE KEY" in text else bmc.waiting_key + text.encode()


def _name_of(body: Mapping[str, Any]) -> x509.Name:
    return x509.Name([x509.NameAttribute(oid, str(body[name])) for name, oid in _NAMES.items() if body.get(name)])


def _parts(name: x509.Name) -> Json:
    found = {part: name.get_attributes_for_oid(oid) for part, oid in _NAMES.items()}
    return {part: items[0].value for part, items in found.items() if items}


def _alternative(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
