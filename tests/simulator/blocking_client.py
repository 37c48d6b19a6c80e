"""One blocking request, for tests that have no event loop."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.request
from typing import Any


def send(method: str, url: str, body: Any = None, user: str = "", password: str = "") -> tuple[int, Any]:
    """The status and the JSON answer (None when empty); an error status raises :class:`urllib.error.HTTPError`."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    if user:
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
    with opener.open(request, timeout=10) as answer:
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def get(url: str) -> int:
    return send("GET", url)[0]


def post(url: str, body: Any, user: str, password: str) -> int:
    return send("POST", url, body, user, password)[0]
