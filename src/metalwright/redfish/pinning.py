"""The first step of every contact: know the certificate that the BMC must show, before anything is asked."""

from __future__ import annotations

import errno
import os
import ssl

from metalwright.redfish.failures import unsent_error
from metalwright.redfish.pins import PinStore, normalise
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange, FailureKind, Peek, Peer, TransportFailure

NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"})
"""What OpenSSL says of an answer that is no TLS record at all."""


def ensure_pin(state: BmcState, pins: PinStore) -> Exchange[None]:
    """Learn the pinned fingerprint; without a pin look at the certificate and offer it to the store. No HTTP request.

    Where another certificate is announced, look which of the two is shown: the announced one then becomes the pin.

    Raises BmcUnreachableError, BmcTlsError, BmcAnswerError (nobody speaks TLS there), or what the store raises to
    refuse a first use.
    """
    if not state.base_url.startswith("https:"):
        return
    pin = pins.get(state.key)
    if pin is None:
        pin = (yield from peek(state)).fingerprint
        pins.record(state.key, pin)
        state.is_first_use = True
    elif announced := pins.announced(state.key):
        seen = (yield from peek(state)).fingerprint
        if seen in announced:
            pins.prove(state.key, seen)
            pin = seen
    state.fingerprint = normalise(pin)


def peek(state: BmcState) -> Exchange[Peer]:
    """Return the certificate shown; no HTTP request. Raises BmcUnreachableError, BmcTlsError or BmcAnswerError."""
    remaining_s, limit_s = state.remaining_s(), state.limits.connect_timeout_s
    seen = yield Peek(limit_s if remaining_s is None else max(0.01, min(limit_s, remaining_s)))
    if isinstance(seen, Peer):
        return seen
    if isinstance(seen, TransportFailure):
        raise unsent_error(f"TLS to {state.base_url}", seen.kind, seen.detail)
    raise TypeError(f"a transport answered a Peek with {seen!r}")


def handshake_failure(error: BaseException, timeout_s: float) -> TransportFailure:
    """Return what an exception of connecting or of the TLS handshake means.

    Whoever closes in the middle of the handshake does not like what we offered.
    """
    match error:
        case ssl.SSLError() if error.reason in NOT_TLS:
            return TransportFailure(FailureKind.NO_TLS, f"an answer that is no TLS ({error.reason})")
        case ssl.SSLError():
            return TransportFailure(FailureKind.TLS, (error.reason or str(error)).replace("_", " ").lower())
        case TimeoutError():
            return TransportFailure(FailureKind.CONNECT_TIMEOUT, f"no answer within {timeout_s:g} s")
        case ConnectionRefusedError():
            return TransportFailure(FailureKind.CONNECT, os.strerror(errno.ECONNREFUSED))
        case ConnectionError():
            return TransportFailure(FailureKind.TLS, "it closed the connection during the handshake")
        case OSError(errno=int(number)) if number > 0:
            return TransportFailure(FailureKind.CONNECT, os.strerror(number))
        case _:
            return TransportFailure(FailureKind.CONNECT, str(error) or type(error).__name__)
