"""Reading the agent's requests and shaping the answers of the control service."""

from __future__ import annotations

import re
from typing import Final, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import ValidationError

from metalwright.errors import MetalwrightError
from metalwright.imaging.medium_secrets import sha256_hex
from metalwright.model.base import Frozen
from metalwright.model.deployment import Deployment, DeploymentState

_Message = TypeVar("_Message", bound=Frozen)
_CLIENT_KEY: Final = re.compile(r"[0-9a-f]{64}")
_WHY_USED: Final = {
    DeploymentState.GO: "is being used by",
    DeploymentState.DONE: "was already used by",
    DeploymentState.FAILED: "was already used, without success, by",
    DeploymentState.EXPIRED: "has expired; it was made for",
}


def read_token(request: web.Request) -> str:
    """Return the bearer token; 401 without one."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme != "Bearer" or not token:
        raise web.HTTPUnauthorized
    return token


def read_client_key_sha256(request: web.Request) -> str:
    """Return the SHA-256 of the client key; 400 when the key is not 64 hexadecimal digits."""
    key = request.headers.get("X-Metalwright-Client-Key", "")
    if not _CLIENT_KEY.fullmatch(key):
        raise web.HTTPBadRequest
    return sha256_hex(key)


async def read_message(request: web.Request, message: type[_Message]) -> _Message:
    """Return the body as ``message``; :class:`pydantic.ValidationError` is answered with 400."""
    return message.model_validate_json(await request.read())


def error_answer(
    status: int, code: str, what: str, expected: str | None = None, found: str | None = None, hint: str | None = None
) -> web.Response:
    """Return the protocol's error object."""
    error = {"code": code, "what": what, "expected": expected, "found": found, "hint": hint}
    return web.json_response({"error": error}, status=status)


def refusal_answer(status: int, code: str, error: MetalwrightError) -> web.Response:
    """Return one of our own errors to the agent."""
    return error_answer(status, code, error.what, error.expected, error.found, error.hint)


def foreign_client(deployment: Deployment) -> web.Response:
    """Return the refusal of a second client key."""
    return error_answer(
        403,
        "refused",
        "this medium is already in use by another boot",
        expected="the agent that used this medium first",
        found="another client key",
        hint=f"run provision again for {deployment.node}: it makes a new boot medium",
    )


def why_used(deployment: Deployment) -> str:
    """Return why a medium has no task (any more)."""
    return f"this medium {_WHY_USED.get(deployment.state, 'belongs to')} run {deployment.run}"


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every failure as a JSON error object, without repeating what the request carried."""
    try:
        return await handler(request)
    except ValidationError as error:
        places = ", ".join(".".join(map(str, item["loc"])) or item["type"] for item in error.errors()[:5])
        return error_answer(400, "internal", "the request is not what the protocol says", found=places)
    except MetalwrightError as error:
        return refusal_answer(503, "internal", error)
    except web.HTTPException as error:
        if error.content_type == "application/json":
            raise
        return error_answer(error.status, "refused", f"{request.method} {request.path}: {error.reason}")
