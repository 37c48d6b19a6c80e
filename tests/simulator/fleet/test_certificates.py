"""A BMC really serves the certificate that was installed, and only that BMC."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.simulator.fleet.direct import Direct

SERVICE = "/redfish/v1/CertificateService"
SUBJECT = {
    "CommonName": "bmc.test",
    "Country": "XX",
    "State": "s",
    "City": "c",
    "Organization": "o",
    "OrganizationalUnit": "u",
    "AlternativeNames": ["bmc.test", "127.0.0.1"],
}


def served(direct: Direct) -> str:
    return ssl.get_server_certificate((direct.bmc.address, direct.port))


def certificates_of(direct: Direct) -> str:
    (manager,) = direct.get("/redfish/v1/Managers")["Members"][:1]
    protocol = direct.get(direct.get(manager["@odata.id"])["NetworkProtocol"]["@odata.id"])
    found: str = protocol["HTTPS"]["Certificates"]["@odata.id"]
    return found


def sign(request_pem: str, like: str) -> str:
    dates = x509.load_pem_x509_certificate(like.encode())
    request = x509.load_pem_x509_csr(request_pem.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    built = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test CA")]))
        .public_key(request.public_key())
        .serial_number(7)
        .not_valid_before(dates.not_valid_before_utc)
        .not_valid_after(dates.not_valid_after_utc)
    )
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()


@pytest.mark.parametrize("name", ["h100-8x-supermicro", "gb200-tray-nvidia"])
def test_what_was_signed_for_its_request_is_served(name: str, bmc: Callable[[str], Direct]) -> None:
    direct = bmc(name)
    old = served(direct)
    collection = certificates_of(direct)
    member = direct.get(collection)["Members"][0]["@odata.id"]
    assert direct.get(member)["CertificateString"] == old
    asked = {**SUBJECT, "CertificateCollection": {"@odata.id": collection}}
    status, answer = direct.action(SERVICE, "#CertificateService.GenerateCSR", asked)
    assert status == 200
    assert served(direct) == old
    signed = sign(answer["CSRString"], old)
    body = {"CertificateString": signed, "CertificateType": "PEM", "CertificateUri": {"@odata.id": member}}
    assert direct.action(SERVICE, "#CertificateService.ReplaceCertificate", body)[0] == 204
    assert served(direct) == signed
    shown = direct.get(member)
    assert (shown["CertificateString"], shown["Subject"]["CommonName"]) == (signed, "bmc.test")
    assert direct.action(SERVICE, "#CertificateService.ReplaceCertificate", body)[0] == 400  # its key is used up


def test_a_request_without_what_the_standard_demands_is_refused(bmc: Callable[[str], Direct]) -> None:
    status, answer = bmc("h200-8x-dell").action(SERVICE, "#CertificateService.GenerateCSR", {"CommonName": "x"})
    assert (status, answer["error"]["code"]) == (400, "Base.1.18.ActionParameterMissing")


def test_some_bmcs_take_only_a_key_that_is_sent_along_and_some_nothing(bmc: Callable[[str], Direct]) -> None:
    assert list(bmc("mi300x-8x-ami").get(SERVICE)["Actions"]) == ["#CertificateService.ReplaceCertificate"]
    assert "Actions" not in bmc("power-shelf-delta").get(SERVICE)
