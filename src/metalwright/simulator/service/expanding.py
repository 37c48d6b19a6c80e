"""``$expand``: a collection with its members in it, at BMCs that offer that."""

from __future__ import annotations

from dataclasses import replace

from metalwright.simulator.service.answers import Json, Refusal
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Call

OFFER = {"ExpandAll": False, "Levels": True, "Links": False, "MaxLevels": 1, "NoLinks": True}
_QUERIES = (".", ".($levels=1)")


def expand(call: Call, body: Json) -> Json:
    """The answer as a BMC that expands gives it; other BMCs ignore the query, as many do."""
    if not call.bmc.expands:
        return body
    if call.path == ROOT:
        return {
            **body,
            "ProtocolFeaturesSupported": {**body.get("ProtocolFeaturesSupported", {}), "ExpandQuery": OFFER},
        }
    members = body.get("Members")
    if call.query.get("$expand") not in _QUERIES or not isinstance(members, list):
        return body
    return {**body, "Members": [_member(call, item) for item in members]}


def _member(call: Call, item: Json) -> Json:
    """The member itself; one that cannot be read stays a link."""
    uri = item.get("@odata.id", "")
    try:
        route, params = call.bmc.routes.find(uri.partition("?")[0])
        if route.read is None:
            return item
        return {"@odata.id": uri, **route.read(replace(call, path=uri.rstrip("/"), params=params))}
    except Refusal:
        return item
