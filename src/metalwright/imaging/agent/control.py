"""The agent's conversation with the boot server: JSON over TLS pinned to one certificate, bounded retries."""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
from typing import Final
from urllib.parse import urlsplit

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Json

_REQUEST_TIMEOUT_S: Final = 20.0
_BACK_OFF_S: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
_X509_V_FLAG_NO_CHECK_TIME: Final = 0x200000


class ControlClient:
    """Sends the protocol's requests. The client key is made here, once, and lives only in this process.

    ``give_up_s`` is how long a server that does not answer is waited for.
    """

    def __init__(self, control_url: str, server_cert_pem: str, token: str | None, *, give_up_s: float) -> None:
        address = urlsplit(control_url)
        if address.scheme != "https" or not address.hostname:
            raise AgentError("internal", "the control URL is not https", expected="https://…", found=control_url)
        self._host, self._port = address.hostname, address.port or 443
        self._tls = _pinned_context(server_cert_pem)
        self.give_up_s = give_up_s
        self._headers = {
            **({"Authorization": f"Bearer {token}"} if token else {}),
            "X-Metalwright-Client-Key": secrets.token_hex(32),
            "Content-Type": "application/json",
        }

    @property
    def server(self) -> str:
        """Return ``host:port``, for messages."""
        return f"{self._host}:{self._port}"

    def use_token(self, token: str) -> None:
        """Send this token from now on."""
        self._headers["Authorization"] = f"Bearer {token}"

    def post(self, path: str, body: Json, *, give_up_s: float | None = None) -> Json:
        """Send ``body`` and return the answer; retry while the server does not answer, at most ``give_up_s`` seconds.

        Raises :class:`AgentError`: ``server-unreachable`` (no answer, or not the pinned server), or the code of the
        server's refusal.
        """
        deadline = time.monotonic() + (self.give_up_s if give_up_s is None else give_up_s)
        attempt = 0
        while True:
            try:
                return self._post_once(path, body)
            except ssl.SSLCertVerificationError as error:
                raise AgentError(
                    "server-unreachable",
                    f"{self.server} is not the boot server that this medium was made for",
                    expected="the certificate in the medium",
                    found=error.verify_message,
                ) from error
            except (OSError, http.client.HTTPException) as error:
                pause_s = _BACK_OFF_S[min(attempt, len(_BACK_OFF_S) - 1)]
                if time.monotonic() + pause_s > deadline:
                    raise self._unreachable(error) from error
                if attempt in (0, 4) or attempt % 10 == 0:
                    say(f"boot server {self.server} does not answer yet: {error or type(error).__name__}")
                attempt += 1
                time.sleep(pause_s)

    def _post_once(self, path: str, body: Json) -> Json:
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=_REQUEST_TIMEOUT_S, context=self._tls)
        try:
            connection.request("POST", path, json.dumps(body), self._headers)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        if response.status >= http.client.INTERNAL_SERVER_ERROR:
            raise http.client.HTTPException(f"HTTP {response.status}")
        answer = _decode(raw)
        if response.status != http.client.OK:
            raise _refusal(path, response.status, answer)
        return answer

    def _unreachable(self, error: Exception) -> AgentError:
        return AgentError(
            "server-unreachable",
            f"the boot server {self.server} cannot be reached",
            expected=f"an answer within {self.give_up_s:.0f} s",
            found=str(error) or type(error).__name__,
        )


def _pinned_context(server_cert_pem: str) -> ssl.SSLContext:
    """Trust exactly one certificate. Name and time say nothing about a pinned key (the clock may be wrong)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags = ssl.VerifyFlags(context.verify_flags | _X509_V_FLAG_NO_CHECK_TIME)
    context.load_verify_locations(cadata=server_cert_pem)
    return context


def _decode(raw: bytes) -> Json:
    try:
        answer = json.loads(raw)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise http.client.HTTPException("the answer is not a JSON object")
    return answer


def _refusal(path: str, status: int, answer: Json) -> AgentError:
    error = answer.get("error")
    error = error if isinstance(error, dict) else {}
    return AgentError(
        str(error.get("code", "refused")),
        str(error.get("what", f"the boot server refused {path} with HTTP {status}")),
        expected=error.get("expected"),
        found=error.get("found"),
    )
