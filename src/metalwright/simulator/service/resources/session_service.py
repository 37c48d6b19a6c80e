"""SessionService and its sessions."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Answer, Call, Field, Patch, Route, collection, link
from metalwright.simulator.service.sessions import Session

_PATH = f"{ROOT}/SessionService"


def routes() -> list[Route]:
    """Log in with POST, log out with DELETE."""
    return [
        Route(_PATH, read=_service, patch=Patch({"SessionTimeout": Field(int, check=_check_timeout)}, _set_timeout)),
        Route(f"{_PATH}/Sessions", read=_sessions, create=_log_in, is_anonymous_create=True, is_open_when_locked=True),
        Route(f"{_PATH}/Sessions/{{id}}", read=_session, delete=_log_out, is_open_when_locked=True),
    ]


def _service(call: Call) -> Json:
    return {
        "@odata.id": _PATH,
        "@odata.type": "#SessionService.v1_1_9.SessionService",
        "Id": "SessionService",
        "Name": "Session service",
        "ServiceEnabled": True,
        "SessionTimeout": call.bmc.gate.timeout_s,
        "Status": {"State": "Enabled", "Health": "OK"},
        "Sessions": link(f"{_PATH}/Sessions"),
    }


def _check_timeout(value: int) -> str | None:
    return None if 30 <= value <= 86400 else "PropertyValueOutOfRange"


async def _set_timeout(call: Call, values: Json) -> None:
    call.bmc.gate.timeout_s = values["SessionTimeout"]


def _sessions(call: Call) -> Json:
    call.bmc.gate.expire()
    return collection(f"{_PATH}/Sessions", "Session", "Sessions", call.bmc.gate.sessions)


def _find(call: Call) -> Session:
    session = call.bmc.gate.sessions.get(call.params["id"])
    if session is None:
        raise refuse("ResourceMissingAtURI", call.path)
    return session


def _session(call: Call) -> Json:
    return _as_json(_find(call))


def _as_json(session: Session) -> Json:
    return {
        "@odata.id": f"{_PATH}/Sessions/{session.id}",
        "@odata.type": "#Session.v1_7_0.Session",
        "Id": session.id,
        "Name": "Session",
        "UserName": session.user,
        "Password": None,
        "SessionType": "Redfish",
        "ClientOriginIPAddress": session.client,
        "CreatedTime": session.created,
    }


async def _log_in(call: Call) -> Answer:
    for name in ("UserName", "Password"):
        if not isinstance(call.body.get(name), str):
            raise refuse("PropertyMissing", name, about=name)
    session = call.bmc.gate.open_session(call.body["UserName"], call.body["Password"], call.host)
    body = _as_json(session)
    return Answer(body, 201, {"X-Auth-Token": session.token, "Location": body["@odata.id"]})


async def _log_out(call: Call) -> Answer:
    session = _find(call)
    del call.bmc.gate.sessions[session.id]
    return Answer(status=204)
