"""The HTTPS side of the boot server: the agent's protocol, on top of a deployment store."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from aiohttp import web

from metalwright.errors import GrantError, LockHeldError
from metalwright.imaging.claims import claim_mismatches, is_armed, read_claim
from metalwright.imaging.control_answers import (
    answer_errors,
    error_answer,
    foreign_client,
    read_client_key_sha256,
    read_message,
    read_token,
    refusal_answer,
    why_used,
)
from metalwright.imaging.identity_check import describe_identity, find_mismatches
from metalwright.imaging.medium_secrets import image_secret, is_same_secret, sha256_hex
from metalwright.model.agent_protocol import Claim, Done, Failure, FailureCode, GoRequest, Hello, Progress
from metalwright.model.deployment import Deployment, DeploymentState, DeploymentStore, GoGuard

LOG = logging.getLogger(__name__)
MAX_BODY_BYTES = 4 << 20
_Result = TypeVar("_Result")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time, aware."""
    return datetime.now(UTC)


class ControlService:
    """Handlers of ``/agent/v1/*``. ``files_url`` is the HTTP side as the nodes reach it."""

    def __init__(self, store: DeploymentStore, guard: GoGuard, files_url: str, clock: Clock = utc_now) -> None:
        self._store = store
        self._guard = guard
        self._files_url = files_url.rstrip("/")
        self._clock = clock

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        application = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[answer_errors])
        application.router.add_post("/agent/v1/claim", self.claim)
        application.router.add_post("/agent/v1/hello", self.hello)
        application.router.add_post("/agent/v1/go", self._bound(self.go))
        application.router.add_post("/agent/v1/progress", self._bound(self.progress))
        application.router.add_post("/agent/v1/done", self._bound(self.done))
        application.router.add_post("/agent/v1/failed", self._bound(self.failed))
        return application

    async def claim(self, request: web.Request) -> web.Response:
        """Give token and nonce to the first agent of an armed node that is the declared machine."""
        claim = await read_message(request, Claim)
        client_key = read_client_key_sha256(request)
        waiting = await asyncio.to_thread(self._store.prepared, self._clock())
        deployment = next((item for item in waiting if is_armed(item) and item.node == claim.node), None)
        if deployment is None:
            return error_answer(409, "refused", f"no run waits for a network boot of {claim.node}")
        if mismatches := claim_mismatches(deployment, claim.identity):
            expected = describe_identity(mismatches, deployment.task.expect)
            found = describe_identity(mismatches, claim.identity)
            LOG.warning("node %s: claimed by another machine (%s)", deployment.node, found)
            return error_answer(409, "identity", f"this machine is not {claim.node}", expected, found)
        if not await self._call(self._store.bind_client, deployment.deployment_id, client_key):
            return foreign_client(deployment)
        secrets = await asyncio.to_thread(read_claim, deployment.media_path)
        LOG.info("node %s: claimed after a network boot from %s", deployment.node, request.remote)
        return web.json_response({"token": secrets.token, "nonce": secrets.nonce})

    async def hello(self, request: web.Request) -> web.Response:
        """Check token, client key, nonce and identity; answer with the task."""
        deployment = await self._authenticate(request)
        client_key = read_client_key_sha256(request)
        is_bound = await self._call(self._store.bind_client, deployment.deployment_id, client_key)
        if deployment.state.is_final:
            return web.json_response({"task": None, "why": why_used(deployment)})
        if not is_bound:
            return foreign_client(deployment)
        hello = await read_message(request, Hello)
        if refusal := await self._refuse_stranger(deployment, hello):
            return refusal
        without_nonce = hello.model_copy(update={"nonce": ""})
        deployment = await self._call(self._store.record_hello, deployment.deployment_id, without_nonce)
        if deployment.state is not DeploymentState.HELLO:
            return web.json_response({"task": None, "why": why_used(deployment)})
        LOG.info("node %s says hello: run %s, boot %s", deployment.node, deployment.run, hello.boot_id)
        url = f"{self._files_url}/i/{image_secret(read_token(request))}/image.{deployment.task.image.format}"
        image = deployment.task.image.model_copy(update={"url": url})
        return web.json_response({"task": deployment.task.model_copy(update={"image": image}).to_json()})

    async def go(self, request: web.Request, deployment: Deployment) -> web.Response:
        """Grant the one write, or say why not."""
        wish = await read_message(request, GoRequest)
        try:
            epoch = await asyncio.to_thread(
                self._store.ask_go, deployment.deployment_id, wish.disk, wish.request_id, self._clock(), self._guard
            )
        except (GrantError, LockHeldError) as error:
            LOG.warning("node %s: go refused: %s", deployment.node, error.what)
            return refusal_answer(403, "refused", error)
        LOG.info("node %s: go for %s (serial %s)", deployment.node, wish.disk.path, wish.disk.serial)
        return web.json_response({"go": True, "lease_epoch": epoch})

    async def progress(self, request: web.Request, deployment: Deployment) -> web.Response:
        """Record progress and say whether to continue."""
        progress = await read_message(request, Progress)
        if await self._call(self._store.record_progress, deployment.deployment_id, progress):
            return web.json_response({"continue": True})
        return web.json_response({"continue": False, "why": why_used(deployment)})

    async def done(self, request: web.Request, deployment: Deployment) -> web.Response:
        """Record success, if the digests are those of the task."""
        done = await read_message(request, Done)
        expected = deployment.task.image.content_sha256
        if not (done.content_sha256 == done.read_back_sha256 == expected):
            failure = Failure(
                code=FailureCode.READ_BACK, what="the agent reports another content than was ordered",
                expected=expected, found=done.read_back_sha256, wrote=True,
            )  # fmt: skip
            await self._call(self._store.finish, deployment.deployment_id, failure)
            return error_answer(409, "read-back", failure.what, expected, done.read_back_sha256)
        if sorted(deployment.task.wipe) != sorted(item.serial for item in done.wiped):
            failure = Failure(
                code=FailureCode.WIPE, what="the agent did not prove the erasure of all disks that were to be erased",
                expected=", ".join(deployment.task.wipe), found=", ".join(item.serial for item in done.wiped),
                wrote=True,
            )  # fmt: skip
            await self._call(self._store.finish, deployment.deployment_id, failure)
            return error_answer(409, "wipe", failure.what, failure.expected, failure.found)
        try:
            await self._call(self._store.finish, deployment.deployment_id, done)
        except GrantError as error:
            return refusal_answer(409, "refused", error)
        LOG.info("node %s: written and read back", deployment.node)
        return web.json_response({})

    async def failed(self, request: web.Request, deployment: Deployment) -> web.Response:
        """Record why the agent stopped."""
        failure = await read_message(request, Failure)
        await self._call(self._store.finish, deployment.deployment_id, failure)
        LOG.warning("node %s stopped: %s: %s", deployment.node, failure.code, failure.what)
        return web.json_response({})

    async def _authenticate(self, request: web.Request) -> Deployment:
        token_hash = sha256_hex(read_token(request))
        deployment = await self._call(self._store.get_by_token_hash, token_hash)
        if deployment is None or not hmac.compare_digest(deployment.token_sha256, token_hash):
            raise web.HTTPUnauthorized(
                text='{"error":{"code":"refused","what":"this medium is not known to the boot server"}}',
                content_type="application/json",
            )
        return deployment

    def _bound(
        self, handler: Callable[[web.Request, Deployment], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Let only the agent in whose client key the token is bound to."""

        async def handle(request: web.Request) -> web.Response:
            deployment = await self._authenticate(request)
            bound = deployment.client_key_sha256
            if bound is None or not hmac.compare_digest(bound, read_client_key_sha256(request)):
                return foreign_client(deployment)
            return await handler(request, deployment)

        return handle

    async def _refuse_stranger(self, deployment: Deployment, hello: Hello) -> web.Response | None:
        """Record and answer a wrong nonce or identity; ``None`` when both are right."""
        mismatches = find_mismatches(deployment.task.expect, hello.identity)
        if not is_same_secret(hello.nonce, deployment.nonce_sha256):
            failure = Failure(code=FailureCode.NONCE, what="the nonce is not this medium's", wrote=False)
        elif mismatches:
            failure = Failure(
                code=FailureCode.IDENTITY,
                what=f"another machine booted the medium of {deployment.node}: {', '.join(mismatches)} differs",
                expected=describe_identity(mismatches, deployment.task.expect),
                found=describe_identity(mismatches, hello.identity),
                wrote=False,
            )
        else:
            return None
        LOG.warning("node %s: %s (found %s)", deployment.node, failure.what, failure.found)
        await self._call(self._store.finish, deployment.deployment_id, failure)
        return error_answer(409, failure.code.value, failure.what, failure.expected, failure.found)

    async def _call(self, method: Callable[..., _Result], *arguments: object) -> _Result:
        """Run a blocking store method, giving it the time."""
        return await asyncio.to_thread(method, *arguments, self._clock())
