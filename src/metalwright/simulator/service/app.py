"""From an HTTP request to a resource and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import time
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from multidict import CIMultiDict

from metalwright.errors import LabError
from metalwright.simulator.rules import WRITES, Incoming
from metalwright.simulator.service.answers import Json, Refusal, refuse
from metalwright.simulator.service.bmc import ROOT, Bmc
from metalwright.simulator.service.deeds import Ask, Deeds
from metalwright.simulator.service.expanding import expand
from metalwright.simulator.service.routes import Answer, Call, Route
from metalwright.simulator.state import Account

MAX_BODY_BYTES = 64 * 1024**2
_HEADERS = {"OData-Version": "4.0", "Cache-Control": "no-cache"}


def make_app(bmc: Bmc) -> web.Application:
    """The aiohttp application of one BMC."""
    app = web.Application(client_max_size=MAX_BODY_BYTES)

    async def handle(request: web.Request) -> web.StreamResponse:
        return await answer_request(bmc, request)

    app.router.add_route("*", "/{path:.*}", handle)
    return app


async def answer_request(bmc: Bmc, request: web.BaseRequest) -> web.StreamResponse:
    """Answer one request in the name of ``bmc``; faults act around the resource."""
    if _is_on_old_address(bmc, request):
        return _hang_up(request)
    body = await request.read() if request.method in WRITES else b""
    ask = Ask(
        request.method, request.path, request.rel_url.query_string, CIMultiDict(request.headers), body,
        request.remote or "",
    )  # fmt: skip
    started = time.monotonic()
    connection = _connection_name(request)
    on_connection = bmc.traffic.connect(connection)
    record = bmc.traffic.begin(ask.method, ask.path, ask.query, ask.headers, body, connection)
    faults = bmc.system.faults.bite(_describe(bmc, ask, on_connection))
    record.faults = [fault.name for fault in faults]
    status = 0
    try:
        async with bmc.pace.turn() as is_admitted:
            response = await _act(bmc, request, ask, Deeds(faults, bmc.tags)) if is_admitted else _too_busy()
        status = response.status if not _is_gone(request) else 0
        return response
    finally:
        bmc.traffic.end(record, time.monotonic() - started, status)


async def _act(bmc: Bmc, request: web.BaseRequest, ask: Ask, deeds: Deeds) -> web.StreamResponse:
    await deeds.wait()
    if deeds.closes("before"):
        return _hang_up(request)
    deeds.change_request(ask)
    response = deeds.judge_condition(ask)
    if response is None and (not deeds.has_own_answer or deeds.has_effect):
        response, user = await _answer(bmc, ask)
        if ask.method in WRITES:
            bmc.system.log.add("Request", ask.method, ask.path, user, response.status)
    if response is None or deeds.has_own_answer:
        response = deeds.own_answer()
    deeds.change_answer(ask, response)
    if deeds.log_out:
        bmc.gate.sessions.clear()
    if deeds.closes("after"):
        return _hang_up(request)
    if deeds.cut_bytes is not None:
        return await _send_part(request, response, deeds.cut_bytes)
    return response


def _describe(bmc: Bmc, ask: Ask, on_connection: int) -> Incoming:
    return Incoming(
        method=ask.method,
        path=ask.path,
        query=ask.query,
        headers=ask.headers,
        body=ask.body.decode("utf-8", "replace") if len(ask.body) < 1024**2 else "",
        connection_requests=on_connection,
        token_requests=bmc.gate.uses_of(ask.headers.get("X-Auth-Token")) + 1,
        open_sessions=bmc.gate.open_sessions,
    )


async def _answer(bmc: Bmc, ask: Ask) -> tuple[web.Response, str]:
    user = "anonymous"
    try:
        route, params = bmc.routes.find(ask.path)
        account = _authenticate(bmc, ask, route)
        user = account.user if account is not None else user
        call = Call(
            bmc, ask.path.rstrip("/"), params, {} if route.takes_bytes else _parse_body(ask), account, ask.remote,
            dict(parse_qsl(ask.query)), ask.headers, ask.body,
        )  # fmt: skip
        _check_privilege(call, route, ask.method)
        return await _run(ask, route, call), user
    except Refusal as refusal:
        headers = {**_HEADERS, **refusal.headers}
        if refusal.http_status == 401:
            headers["WWW-Authenticate"] = 'Basic realm="bmc"'
        return web.json_response(refusal.as_json(), status=refusal.http_status, headers=headers), user
    except LabError as error:
        body = refuse("InternalError").as_json()
        body["error"]["message"] = str(error)
        return web.json_response(body, status=500, headers=_HEADERS), user


async def _run(ask: Ask, route: Route, call: Call) -> web.Response:
    method = ask.method
    if method in ("GET", "HEAD") and route.read is not None:
        body = route.read(call)
        return _read_response(ask, route, expand(call, body) if isinstance(body, dict) else body)
    if method == "PATCH" and route.patch is not None and route.read is not None:
        current = route.read(call)
        _check_etag(ask, current)
        return _write_response(await route.patch.run(call, current))
    if method == "POST" and route.create is not None:
        return _write_response(await route.create(call))
    if method == "DELETE" and route.delete is not None:
        return _write_response(await route.delete(call))
    refusal = refuse("OperationNotAllowed")
    refusal.headers["Allow"] = route.allow
    raise refusal


def _authenticate(bmc: Bmc, ask: Ask, route: Route) -> Account | None:
    is_create = ask.method == "POST" and route.is_anonymous_create
    if (route.is_anonymous and ask.method in ("GET", "HEAD")) or is_create:
        return None
    token = ask.headers.get("X-Auth-Token")
    if token is not None:
        return bmc.gate.find_token(token)
    user, password = _basic(ask.headers.get("Authorization", ""))
    return bmc.gate.check_password(user, password)


def _is_on_old_address(bmc: Bmc, request: web.BaseRequest) -> bool:
    transport = request.transport
    name = transport.get_extra_info("sockname") if transport is not None else None
    allowed = getattr(bmc.mover, "addresses", None)
    return allowed is not None and name is not None and name[0] not in allowed


def _connection_name(request: web.BaseRequest) -> str:
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    return f"{peer[0]}:{peer[1]}" if peer else ""


def _check_privilege(call: Call, route: Route, method: str) -> None:
    account = call.account
    if account is None:
        return
    own = f"{ROOT}/AccountService/Accounts/{account.id}"
    is_own_account = call.path == own
    if account.must_change and not is_own_account:
        refusal = refuse("PasswordChangeRequired", own)
        raise refusal
    if method in WRITES and call.bmc.state.manager.is_locked and not route.is_open_when_locked:
        raise refuse("IDRAC.2.8.LOCK")
    if method in WRITES and account.role == "ReadOnly" and not is_own_account:
        raise refuse("InsufficientPrivilege")
    if method in WRITES and account.role == "Operator" and not route.path.startswith(f"{ROOT}/Systems"):
        raise refuse("InsufficientPrivilege")


def _parse_body(ask: Ask) -> Json:
    if not ask.body or ask.method not in ("POST", "PATCH"):
        return {}
    try:
        data: Any = json.loads(ask.body)
    except ValueError:
        raise refuse("MalformedJSON") from None
    if not isinstance(data, dict):
        raise refuse("MalformedJSON")
    return data


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise refuse("NoValidSession")
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise refuse("NoValidSession") from None
    return user, password


def _etag(body: Json) -> str:
    return '"' + hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16] + '"'


def _check_etag(ask: Ask, current: Json) -> None:
    wanted = ask.headers.get("If-Match")
    if wanted is None or wanted.strip() == "*":
        return
    if _etag(current) not in [tag.strip().removeprefix("W/") for tag in wanted.split(",")]:
        raise refuse("PreconditionFailed")


def _read_response(ask: Ask, route: Route, body: Any) -> web.Response:
    if route.content_type != "application/json":
        return web.Response(text=body, content_type=route.content_type, headers=_HEADERS)
    headers = {**_HEADERS, "Allow": route.allow}
    if not route.is_volatile:
        etag = _etag(body)
        headers["ETag"] = etag
        body = {**body, "@odata.etag": etag} if "@odata.id" in body else body
        if ask.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers=headers)
    return web.json_response(body, headers=headers)


def _write_response(answer: Answer) -> web.Response:
    headers = {**_HEADERS, **answer.headers}
    if answer.body is None:
        return web.Response(status=204 if answer.status == 200 else answer.status, headers=headers)
    return web.json_response(answer.body, status=answer.status, headers=headers)


def _too_busy() -> web.Response:
    body = refuse("ServiceTemporarilyUnavailable", "1").as_json()
    return web.json_response(body, status=503, headers={**_HEADERS, "Retry-After": "1"})


async def _send_part(request: web.BaseRequest, response: web.Response, size_bytes: int) -> web.StreamResponse:
    whole = response.body if isinstance(response.body, bytes) else b""
    part = web.StreamResponse(status=response.status, headers={"Content-Type": "application/json"})
    part.content_length = len(whole)
    await part.prepare(request)
    await part.write(whole[:size_bytes])
    _hang_up(request)
    return part


def _is_gone(request: web.BaseRequest) -> bool:
    return request.transport is None or request.transport.is_closing()


def _hang_up(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
