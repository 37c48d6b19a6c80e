"""A small Redfish client for the tests of the simulator: it shares nothing with the product's client."""

from __future__ import annotations

import base64
from typing import Any

import aiohttp

from metalwright.simulator.running import RunningService

ADDRESS = "127.81.0.1"
SYSTEM = "/redfish/v1/Systems/1"
MANAGER = "/redfish/v1/Managers/1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


class Client:
    """Speaks to one service with basic authentication; answers are (status, JSON or None)."""

    def __init__(self, service: RunningService, http: aiohttp.ClientSession) -> None:
        self.service = service
        self.http = http
        self.auth: tuple[str, str] | None = (service.user, service.password)
        self.headers: dict[str, str] = {}

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        url: str | None = None,
        data: bytes | None = None,
    ) -> tuple[int, Any]:
        sent = {**self.headers, **(headers or {})}
        if self.auth is not None:
            sent["Authorization"] = "Basic " + base64.b64encode(":".join(self.auth).encode()).decode()
        async with self.http.request(
            method, (url or self.service.url) + path, json=body, data=data, ssl=False, headers=sent
        ) as answer:
            self.last_headers = answer.headers
            is_json = answer.content_type == "application/json"
            return answer.status, await answer.json() if is_json else await answer.text() or None

    async def get(self, path: str) -> Any:
        status, body = await self.request("GET", path)
        assert status == 200, (path, status, body)
        return body

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        return await self.request("POST", path, body)

    async def patch(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        return await self.request("PATCH", path, body, headers)

    async def reset(self, kind: str) -> None:
        status, body = await self.post(RESET, {"ResetType": kind})
        assert status == 204, body


def message_ids(body: Any) -> list[str]:
    """The message keys of an error body, without the registry's name."""
    return [info["MessageId"].rsplit(".", 1)[-1] for info in body["error"]["@Message.ExtendedInfo"]]
