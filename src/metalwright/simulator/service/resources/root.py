"""Service root, OData documents."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Call, Route, link

_SERVICES = {
    "Systems": "Systems",
    "Chassis": "Chassis",
    "Managers": "Managers",
    "SessionService": "SessionService",
    "AccountService": "AccountService",
    "UpdateService": "UpdateService",
    "Tasks": "TaskService",
    "Registries": "Registries",
    "CertificateService": "CertificateService",
}


def routes() -> list[Route]:
    """The documents that need no login."""
    return [
        Route("/redfish", read=_versions, is_anonymous=True),
        Route(ROOT, read=_root, is_anonymous=True),
        Route(f"{ROOT}/odata", read=_odata, is_anonymous=True),
        Route(f"{ROOT}/$metadata", read=_metadata, is_anonymous=True, content_type="application/xml"),
    ]


def _versions(_call: Call) -> Json:
    return {"v1": f"{ROOT}/"}


def _root(call: Call) -> Json:
    state = call.bmc.state
    body: Json = {
        "@odata.id": f"{ROOT}/",
        "@odata.type": "#ServiceRoot.v1_16_0.ServiceRoot",
        "Id": "RootService",
        "Name": "Root service",
        "RedfishVersion": "1.18.0",
        "UUID": state.service_uuid,
        "Vendor": call.bmc.spec.bmc.manufacturer,
        "Product": call.bmc.spec.bmc.model,
        "Links": {"Sessions": link(f"{ROOT}/SessionService/Sessions")},
        "ProtocolFeaturesSupported": {
            "ExcerptQuery": False,
            "FilterQuery": False,
            "OnlyMemberQuery": False,
            "SelectQuery": False,
            "DeepOperations": {"DeepPATCH": False, "DeepPOST": False},
            "ExpandQuery": {"ExpandAll": False, "Levels": False, "Links": False, "NoLinks": False},
        },
    }
    body.update({name: link(f"{ROOT}/{path}") for name, path in _SERVICES.items()})
    return body


def _metadata(_call: Call) -> str:
    """The entity container; the schemas themselves are DMTF's and named by the resources' types."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">'
        '<edmx:Reference Uri="http://redfish.dmtf.org/schemas/v1/ServiceRoot_v1.xml">'
        '<edmx:Include Namespace="ServiceRoot"/><edmx:Include Namespace="ServiceRoot.v1_16_0"/></edmx:Reference>'
        '<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">'
        '<EntityContainer Name="Service" Extends="ServiceRoot.v1_16_0.ServiceContainer"/></Schema>'
        "</edmx:DataServices></edmx:Edmx>"
    )


def _odata(_call: Call) -> Json:
    members = [{"name": "Service", "kind": "Singleton", "url": f"{ROOT}/"}]
    members += [{"name": name, "kind": "Singleton", "url": f"{ROOT}/{path}"} for name, path in _SERVICES.items()]
    return {"@odata.context": f"{ROOT}/$metadata", "value": members}
