"""The HTTPS certificate of a BMC: what it offers to replace it, the signing request, and the certificate shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.dialogue import write
from metalwright.redfish.links import Topology, find
from metalwright.redfish.state import BmcState
from metalwright.redfish.tasks import result_of
from metalwright.redfish.wire import Exchange, Request

GENERATE = "#CertificateService.GenerateCSR"
REPLACE = "#CertificateService.ReplaceCertificate"
COLLECTION = "@manager/NetworkProtocol/HTTPS/Certificates"
CSR_S = 120.0
"""How long a BMC may take for a key: weak processors need a minute for RSA."""

Way = Literal["csr", "key"]


@dataclass(frozen=True, slots=True)
class CertificateOffer:
    """Where the certificate ``certificate_uri`` is replaced; ``generate_uri`` makes a request, where there is one."""

    collection_uri: str
    certificate_uri: str
    replace_uri: str
    generate_uri: str | None

    @property
    def way(self) -> Way:
        """``csr``: the BMC makes its key; ``key``: it must be sent one."""
        return "csr" if self.generate_uri is not None else "key"


def find_offer(state: BmcState, topology: Topology) -> Exchange[CertificateOffer | None]:
    """Return how the HTTPS certificate can be replaced; None where the BMC offers no way.

    Raises RedfishError for what is broken, not for what is not there.
    """
    service = yield from _find(state, topology, "@root/CertificateService")
    replace_uri = _target(service, REPLACE)
    if replace_uri is None:
        return None
    collection = yield from _find(state, topology, COLLECTION)
    members = collection.get("Members")
    uris = [item.get("@odata.id") for item in members if isinstance(item, Mapping)] if isinstance(members, list) else []
    found = [uri for uri in uris if isinstance(uri, str) and uri]
    if not found or not isinstance(collection.get("@odata.id"), str):
        return None
    return CertificateOffer(collection["@odata.id"], found[0], replace_uri, _target(service, GENERATE))


def _find(state: BmcState, topology: Topology, expression: str) -> Exchange[Mapping[str, Any]]:
    try:
        value = (yield from find(state, topology, expression)).value
    except BmcAnswerError:
        return {}
    except BmcRefusedError as error:
        if error.status not in (404, 405, 501):
            raise
        return {}
    return value if isinstance(value, Mapping) else {}


def _target(service: Mapping[str, Any], action: str) -> str | None:
    actions = service.get("Actions")
    offered = actions.get(action) if isinstance(actions, Mapping) else None
    target = offered.get("target") if isinstance(offered, Mapping) else None
    return target if isinstance(target, str) and target else None


def generate_request(
    state: BmcState, offer: CertificateOffer, subject: Mapping[str, str], names: Sequence[str]
) -> Exchange[str]:
    """Have the BMC make a key, and return its signing request (PEM). ``subject`` has Redfish's words.

    Raises BmcAnswerError when it answers without one.
    """
    body = {**subject, "AlternativeNames": list(names), "CertificateCollection": {"@odata.id": offer.collection_uri}}
    request = Request("POST", str(offer.generate_uri), body, timeout_s=CSR_S)
    first = yield from write(state, request)
    answer = yield from result_of(state, first, timeout_s=CSR_S)
    text = (answer.json_object() or {}).get("CSRString")
    if isinstance(text, str) and "-----BEGIN" in text:
        return text
    raise BmcAnswerError(
        "the BMC made no signing request",
        where=state.where("POST", request.path),
        expected="CSRString",
        found=f"HTTP {answer.status} without it",
        hint="make one on its web page, or update the BMC firmware",
    )


def replace_request(offer: CertificateOffer, certificates: str, *, key: str | None, is_chain: bool) -> Request:
    """Return the request that installs certificates (PEM), with their key where the BMC has none of its own."""
    body = {
        "CertificateString": (key or "") + certificates,
        "CertificateType": "PEMchain" if is_chain else "PEM",
        "CertificateUri": {"@odata.id": offer.certificate_uri},
    }
    secrets = (key, key.replace("\n", "\\n")) if key else ()
    return Request("POST", offer.replace_uri, body, secrets=secrets)
