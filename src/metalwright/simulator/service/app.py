"""From an HTTP request to a resource and back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import json
from typing import Any

from aiohttp import web

from metalwright.errors import LabError
from metalwright.simulator.service.answers import Json, Refusal, refuse
from metalwright.simulator.service.bmc import ROOT, Bmc
from metalwright.simulator.service.resources import all_routes
from metalwright.simulator.service.routes import Answer, Call, Route, RouteTable
from metalwright.simulator.state import Account

_HEADERS = {"OData-Version": "4.0", "Cache-Control": "no-cache"}
_WRITES = ("POST", "PATCH", "PUT", "DELETE")


def make_app(bmc: Bmc) -> web.Application:
    """The aiohttp application of one BMC."""
    dispatcher = _Dispatcher(bmc)
    app = web.Application(client_max_size=64 * 1024**2)
    app.router.add_route("*", "/{path:.*}", dispatcher.handle)
    return app


class _Dispatcher:
    def __init__(self, bmc: Bmc) -> None:
        self.bmc = bmc
        self.table = RouteTable(all_routes())

    async def handle(self, request: web.Request) -> web.StreamResponse:
        faults = self.bmc.system.faults
        key = (request.method, request.path)
        if faults.take("unreachable", *key) is not None or self._is_on_old_address(request):
            return _hang_up(request)
        slow = faults.take("slow", *key)
        if slow is not None:
            await asyncio.sleep(slow.seconds)
        wrong = faults.take("wrong-answer", *key)
        if wrong is not None:
            text = wrong.body if isinstance(wrong.body, str) else json.dumps(wrong.body)
            return web.Response(status=wrong.status, text=text, content_type=wrong.content_type)
        response, user = await self._answer(request)
        if request.method in _WRITES:
            self.bmc.system.log.add("Request", request.method, request.path, user, response.status)
        if request.method in _WRITES and faults.take("drop-after-effect", *key) is not None:
            return _hang_up(request)
        return response

    async def _answer(self, request: web.Request) -> tuple[web.Response, str]:
        user = "anonymous"
        try:
            route, params = self.table.find(request.path)
            account = self._authenticate(request, route)
            user = account.user if account is not None else user
            call = Call(
                self.bmc, request.path.rstrip("/"), params, await _body(request), account, request.remote or "",
                request.query,
            )  # fmt: skip
            _check_privilege(call, route, request.method)
            return await self._run(request, route, call), user
        except Refusal as refusal:
            headers = {**_HEADERS, **refusal.headers}
            if refusal.http_status == 401:
                headers["WWW-Authenticate"] = 'Basic realm="bmc"'
            return web.json_response(refusal.as_json(), status=refusal.http_status, headers=headers), user
        except LabError as error:
            body = refuse("InternalError").as_json()
            body["error"]["message"] = str(error)
            return web.json_response(body, status=500, headers=_HEADERS), user

    async def _run(self, request: web.Request, route: Route, call: Call) -> web.Response:
        method = request.method
        if method in ("GET", "HEAD") and route.read is not None:
            return _read_response(request, route, route.read(call))
        if method == "PATCH" and route.patch is not None and route.read is not None:
            current = route.read(call)
            _check_etag(request, current)
            return _write_response(await route.patch.run(call, current))
        if method == "POST" and route.create is not None:
            return _write_response(await route.create(call))
        if method == "DELETE" and route.delete is not None:
            return _write_response(await route.delete(call))
        refusal = refuse("OperationNotAllowed")
        refusal.headers["Allow"] = route.allow
        raise refusal

    def _authenticate(self, request: web.Request, route: Route) -> Account | None:
        is_create = request.method == "POST" and route.is_anonymous_create
        if (route.is_anonymous and request.method in ("GET", "HEAD")) or is_create:
            return None
        token = request.headers.get("X-Auth-Token")
        if token is not None:
            return self.bmc.gate.find_token(token)
        user, password = _basic(request.headers.get("Authorization", ""))
        return self.bmc.gate.check_password(user, password)

    def _is_on_old_address(self, request: web.Request) -> bool:
        transport = request.transport
        name = transport.get_extra_info("sockname") if transport is not None else None
        allowed = getattr(self.bmc.mover, "addresses", None)
        return allowed is not None and name is not None and name[0] not in allowed


def _check_privilege(call: Call, route: Route, method: str) -> None:
    account = call.account
    if account is None:
        return
    own = f"{ROOT}/AccountService/Accounts/{account.id}"
    is_own_account = call.path == own
    if account.must_change and not is_own_account:
        refusal = refuse("PasswordChangeRequired", own)
        raise refusal
    if method in _WRITES and call.bmc.state.manager.is_locked and not route.is_open_when_locked:
        raise refuse("IDRAC.2.8.LOCK")
    if method in _WRITES and account.role == "ReadOnly" and not is_own_account:
        raise refuse("InsufficientPrivilege")
    if method in _WRITES and account.role == "Operator" and not route.path.startswith(f"{ROOT}/Systems"):
        raise refuse("InsufficientPrivilege")


async def _body(request: web.Request) -> Json:
    raw = await request.read()
    if not raw or request.method not in ("POST", "PATCH"):
        return {}
    try:
        data: Any = json.loads(raw)
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


def _check_etag(request: web.Request, current: Json) -> None:
    wanted = request.headers.get("If-Match")
    if wanted is None or wanted.strip() == "*":
        return
    if _etag(current) not in [tag.strip().removeprefix("W/") for tag in wanted.split(",")]:
        raise refuse("PreconditionFailed")


def _read_response(request: web.Request, route: Route, body: Any) -> web.Response:
    if route.content_type != "application/json":
        return web.Response(text=body, content_type=route.content_type, headers=_HEADERS)
    etag = _etag(body)
    headers = {**_HEADERS, "Allow": route.allow}
    if not route.is_volatile:
        headers["ETag"] = etag
        body = {**body, "@odata.etag": etag} if "@odata.id" in body else body
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers=headers)
    return web.json_response(body, headers=headers)


def _write_response(answer: Answer) -> web.Response:
    headers = {**_HEADERS, **answer.headers}
    if answer.body is None:
        return web.Response(status=204 if answer.status == 200 else answer.status, headers=headers)
    return web.json_response(answer.body, status=answer.status, headers=headers)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
