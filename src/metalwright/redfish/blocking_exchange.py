"""What requests sends and gives back, in the words of :mod:`metalwright.redfish.wire`."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3
from gevent import Timeout, monkey  # type: ignore[import-untyped]  # comes with pyinfra and has no types
from requests.adapters import HTTPAdapter

from metalwright.redfish.wire import MAX_BODY_BYTES, FailureKind, Send, TransportFailure


class _EndlessBodyError(Exception):
    pass


class _SlowAnswerError(Exception):
    pass


@contextmanager
def hard_limit(seconds: float) -> Iterator[None]:
    """End the block after ``seconds``, however slowly bytes drip in; only gevent, under pyinfra, can do that.

    Socket timeouts count from one packet to the next, so that they never end a drip.
    """
    if not monkey.is_module_patched("socket"):
        yield
        return
    with Timeout(seconds, _SlowAnswerError(f"no answer within {seconds:g} s")):
        yield


class Adapter(HTTPAdapter):
    """Accepts exactly one certificate, whoever signed it; takes no body that is endless or never comes to its end."""

    def __init__(self, fingerprint: str | None) -> None:
        self._fingerprint = fingerprint
        super().__init__(max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        """Make the pool with the pin."""
        super().init_poolmanager(connections, maxsize, block, assert_fingerprint=self._fingerprint, **kwargs)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send, and read the whole body within the read timeout, counted once and not for every packet."""
        timeouts = kwargs.get("timeout")
        give_up_at = time.monotonic() + (sum(timeouts) if isinstance(timeouts, tuple) else 60.0)
        response = super().send(request, *args, **{**kwargs, "stream": True})
        parts, size_bytes = [], 0
        while part := response.raw.read1(65536, decode_content=True):
            parts.append(part)
            size_bytes += len(part)
            if size_bytes > MAX_BODY_BYTES:
                response.close()
                raise _EndlessBodyError(f"more than {MAX_BODY_BYTES >> 20} MiB")
            if time.monotonic() > give_up_at:
                response.close()
                raise _SlowAnswerError(f"{size_bytes} bytes and no end")
        response._content = b"".join(parts)
        response._content_consumed = True
        response.raw.release_conn()
        return response


def _chain(error: BaseException | None) -> list[BaseException]:
    """Return the error and everything that it wraps."""
    found: list[BaseException] = []
    todo = [error]
    while todo:
        item = todo.pop()
        if isinstance(item, BaseException) and item not in found:
            found.append(item)
            todo += [item.__cause__, getattr(item, "reason", None), *item.args]
    return found


def failure_of(error: BaseException | None, step: Send) -> TransportFailure:
    """Return the kind of failure behind an exception of requests."""
    chain = _chain(error)
    text = str(chain[-1]) if chain else "no answer"
    if isinstance(error, _EndlessBodyError):
        return TransportFailure(FailureKind.ENDLESS, text)
    if isinstance(error, requests.exceptions.SSLError):
        mismatch = next((str(item) for item in chain if "ingerprints did not match" in str(item)), None)
        if mismatch is not None:
            return TransportFailure(
                FailureKind.CERTIFICATE, f"sha256 {mismatch.rsplit('got', 1)[-1].split(chr(34))[1]}"
            )
        return TransportFailure(FailureKind.TLS, text)
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return TransportFailure(FailureKind.CONNECT_TIMEOUT, f"no answer within {step.connect_timeout_s:g} s")
    if isinstance(error, requests.exceptions.Timeout | _SlowAnswerError) or any(
        isinstance(item, urllib3.exceptions.ReadTimeoutError) for item in chain
    ):
        return TransportFailure(FailureKind.TIMEOUT, f"no answer within {step.read_timeout_s:g} s")
    if any(isinstance(item, urllib3.exceptions.NewConnectionError) for item in chain):
        return TransportFailure(FailureKind.CONNECT, text)
    if any(isinstance(item, ssl.SSLError) for item in chain):
        return TransportFailure(FailureKind.TLS, text)
    return TransportFailure(FailureKind.CLOSED, f"connection closed: {text}")
