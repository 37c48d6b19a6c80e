"""The certificate service, and the certificate of the BMC's web server."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import MANAGER, ROOT
from metalwright.simulator.service.certificates import GENERATE, REPLACE, describe, generate, replace
from metalwright.simulator.service.routes import Answer, Call, Route, listing

SERVICE = f"{ROOT}/CertificateService"
CERTIFICATES = f"{MANAGER}/NetworkProtocol/HTTPS/Certificates"
_ACTIONS = {"csr": (GENERATE, REPLACE), "key": (REPLACE,), "none": ()}


def routes() -> list[Route]:
    """The service with its two actions, and the one certificate of HTTPS."""
    return [
        Route(SERVICE, read=_service),
        Route(f"{SERVICE}/Actions/{GENERATE}", create=_generate),
        Route(f"{SERVICE}/Actions/{REPLACE}", create=_replace),
        listing(CERTIFICATES, "Certificate", "Certificates of HTTPS", ["1"]),
        Route(f"{CERTIFICATES}/1", read=_certificate),
    ]


def _service(call: Call) -> Json:
    offered = _ACTIONS[call.bmc.spec.bmc.certificates]
    body: Json = {
        "@odata.id": SERVICE,
        "@odata.type": "#CertificateService.v1_0_6.CertificateService",
        "Id": "CertificateService",
        "Name": "Certificate service",
    }
    actions = {f"#{name}": {"target": f"{SERVICE}/Actions/{name}"} for name in offered}
    return {**body, "Actions": actions} if actions else body


def _certificate(call: Call) -> Json:
    return {
        "@odata.id": f"{CERTIFICATES}/1",
        "@odata.type": "#Certificate.v1_9_0.Certificate",
        "Id": "1",
        "Name": "Certificate of HTTPS",
        **describe(call.bmc),
    }


async def _generate(call: Call) -> Answer:
    if call.bmc.spec.bmc.certificates != "csr":
        raise refuse("ResourceMissingAtURI", call.path)
    return await generate(call)


async def _replace(call: Call) -> Answer:
    if call.bmc.spec.bmc.certificates == "none":
        raise refuse("ResourceMissingAtURI", call.path)
    return await replace(call)
