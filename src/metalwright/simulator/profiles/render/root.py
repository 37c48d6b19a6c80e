"""Service root, registries, and the services that every BMC has."""

from __future__ import annotations

from metalwright.simulator.events import REGISTRY as EVENTS
from metalwright.simulator.events import REGISTRY_TITLE, message_registry
from metalwright.simulator.profiles.book import ROOT
from metalwright.simulator.profiles.render.frame import Frame, Json

_REDFISH = "http://redfish.dmtf.org/schemas/v1"


def write(frame: Frame) -> None:
    """What needs no login, and the small services."""
    book, data = frame.book, frame.data
    _registries(frame)
    _certificates(frame)
    services = {
        name: book.link(f"{ROOT}/{path}")
        for name, path in {
            "Chassis": "Chassis",
            "Managers": "Managers",
            "SessionService": "SessionService",
            "AccountService": "AccountService",
            "Tasks": "TaskService",
            "UpdateService": "UpdateService",
            "Registries": "Registries",
            "CertificateService": "CertificateService",
        }.items()
    }
    if frame.systems:
        services["Systems"] = book.link(f"{ROOT}/Systems")
    book.bodies["/redfish"] = {"v1": f"{ROOT}/"}
    book.bodies[ROOT] = {
        "@odata.id": f"{ROOT}/",
        "@odata.type": "#ServiceRoot.v1_16_0.ServiceRoot",
        "Id": "RootService",
        "Name": "Root service",
        "RedfishVersion": data.bmc.redfish,
        "UUID": "{{uuid+1}}",
        "Vendor": frame.style.vendor,
        "Product": data.bmc.model,
        "Links": {"Sessions": book.link(f"{ROOT}/SessionService/Sessions")},
        "ProtocolFeaturesSupported": {
            "ExcerptQuery": False,
            "FilterQuery": False,
            "OnlyMemberQuery": False,
            "SelectQuery": False,
            "DeepOperations": {"DeepPATCH": False, "DeepPOST": False},
            "ExpandQuery": {"ExpandAll": False, "Levels": False, "Links": False, "NoLinks": False},
        },
        **services,
    }
    book.bodies[f"{ROOT}/odata"] = _odata(services)
    book.bodies[f"{ROOT}/$metadata"] = {"__not_json__": _metadata(frame)}


def _odata(services: Json) -> Json:
    members = [{"name": "Service", "kind": "Singleton", "url": f"{ROOT}/"}]
    members += [{"name": name, "kind": "Singleton", "url": target["@odata.id"]} for name, target in services.items()]
    return {"@odata.context": f"{ROOT}/$metadata", "value": members}


def _metadata(frame: Frame) -> str:
    """References to the schemas of all types that the tree speaks."""
    kinds = {str(body.get("@odata.type", "")).lstrip("#") for body in frame.book.bodies.values()}
    references = []
    for kind in sorted(kind for kind in kinds if kind and not kind.startswith(("Dell", "Hpe"))):
        name, _, rest = kind.partition(".")
        version = rest.partition(".")[0] if "." in rest else ""
        space = f"{name}.{version}" if version else name
        references.append(
            f'<edmx:Reference Uri="{_REDFISH}/{name}_v1.xml"><edmx:Include Namespace="{name}"/>'
            + (f'<edmx:Include Namespace="{space}"/>' if version else "")
            + "</edmx:Reference>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0">'
        + "".join(references)
        + '<edmx:DataServices><Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Service">'
        '<EntityContainer Name="Service" Extends="ServiceRoot.v1_16_0.ServiceContainer"/></Schema>'
        "</edmx:DataServices></edmx:Edmx>"
    )


def _registries(frame: Frame) -> None:
    book, path = frame.book, f"{ROOT}/Registries"
    file = f"{path}/{EVENTS}.0/{EVENTS}.0.json"
    location = [{"Language": "en", "Uri": file}]
    body = {"Registry": EVENTS, "Languages": ["en"], "Location": location, "Description": REGISTRY_TITLE}
    book.add(f"{path}/{EVENTS}.0", "MessageRegistryFile", REGISTRY_TITLE, body)
    book.bodies[file] = message_registry(frame.style.vendor)
    members = [
        place
        for place, body in book.bodies.items()
        if str(body.get("@odata.type", "")).startswith("#MessageRegistryFile.") and place.startswith(path)
    ]
    book.collect(path, "MessageRegistryFile", members)


def _certificates(frame: Frame) -> None:
    book, path = frame.book, f"{ROOT}/CertificateService"
    names = {
        "csr": ("CertificateService.GenerateCSR", "CertificateService.ReplaceCertificate"),
        "key": ("CertificateService.ReplaceCertificate",),
        "none": (),
    }[frame.style.certificates]
    actions = {f"#{name}": {"target": f"{path}/Actions/{name}"} for name in names}
    book.add(path, "CertificateService", "Certificate service", {"Actions": actions} if actions else {})
