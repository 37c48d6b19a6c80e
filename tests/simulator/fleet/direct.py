"""A blocking Redfish client of the standard library for one BMC of a fleet: it shares nothing with the product."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from typing import Any

from metalwright.simulator.fleet.bmc import TreeBmc
from metalwright.simulator.fleet.service import Fleet

_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_TLS.check_hostname, _TLS.verify_mode = False, ssl.CERT_NONE


class Direct:
    """Speaks to the BMC of one profile with its factory login; answers are (status, JSON or text)."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.bmc: TreeBmc = next(bmc for bmc in fleet.bmcs.values() if bmc.tree_routes.tree.name == name)
        self.url = f"https://{self.bmc.address}:{fleet.port}"
        self.port = fleet.port
        self.host = self.bmc.tree_routes.bindings.host
        self.headers: dict[str, str] = {}
        self.last_headers: dict[str, str] = {}
        login = f"{self.bmc.spec.bmc.user}:{self.bmc.spec.bmc.password.get_secret_value()}"
        self._login = "Basic " + base64.b64encode(login.encode()).decode()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """One request on a connection of its own."""
        line = http.client.HTTPSConnection(self.bmc.address, self.port, context=_TLS, timeout=20)
        try:
            sent = {"Authorization": self._login, "Content-Type": "application/json", **headers}
            line.request(method, path, json.dumps(body) if body is not None else None, sent)
            answer = line.getresponse()
            text = answer.read().decode()
            self.last_headers = {name.lower(): value for name, value in answer.getheaders()}
            is_json = "json" in self.last_headers.get("content-type", "")
            return answer.status, json.loads(text) if is_json and text else text
        finally:
            line.close()

    def get(self, path: str) -> Any:
        """The body of a resource that must be there."""
        status, body = self.ask("GET", path)
        assert status == 200, (path, status, body)
        return body

    def action(self, path: str, action: str, body: Any) -> tuple[int, Any]:
        """Carry out an action that a resource offers."""
        return self.ask("POST", self.get(path)["Actions"][action]["target"], body)

    def reset(self, kind: str) -> None:
        """Reset the host."""
        status, body = self.action(self.host, "#ComputerSystem.Reset", {"ResetType": kind})
        assert status == 204, body

    def finish(self, path: str) -> Any:
        """Wait for a task."""
        for _ in range(100):
            body = self.get(path)
            if body["TaskState"] not in ("New", "Running"):
                return body
            time.sleep(0.05)
        raise AssertionError(body)


def message_keys(body: Any) -> list[str]:
    """The message keys of an error body, without the registry's name."""
    return [info["MessageId"].rsplit(".", 1)[-1] for info in body["error"]["@Message.ExtendedInfo"]]
