"""What aiohttp gives back, in the words of :mod:`metalwright.redfish.wire`: bodies that end, and kinds of failure."""

from __future__ import annotations

import aiohttp

from metalwright.redfish.wire import MAX_BODY_BYTES, FailureKind, TransportFailure


class BoundedResponse(aiohttp.ClientResponse):
    """Stops reading a body that does not end."""

    async def read(self) -> bytes:
        """Return the body; raises _EndlessBodyError."""
        if self._body is None:
            parts, size_bytes = [], 0
            async for part in self.content.iter_any():
                parts.append(part)
                size_bytes += len(part)
                if size_bytes > MAX_BODY_BYTES:
                    self.close()
                    raise _EndlessBodyError(f"more than {MAX_BODY_BYTES >> 20} MiB")
            self._body = b"".join(parts)
        return self._body


class _EndlessBodyError(aiohttp.ClientPayloadError):
    pass


def failure_of(cause: BaseException | None) -> TransportFailure:
    """Return the kind of failure behind DMTF's connection error."""
    text = str(cause) or type(cause).__name__
    match cause:
        case aiohttp.ServerFingerprintMismatch():
            return TransportFailure(FailureKind.CERTIFICATE, f"sha256 {cause.got.hex()}")
        case _EndlessBodyError():
            return TransportFailure(FailureKind.ENDLESS, text)
        case aiohttp.ClientSSLError():
            return TransportFailure(FailureKind.TLS, text)
        case aiohttp.ClientConnectorError():
            return TransportFailure(FailureKind.CONNECT, text)
        case _:
            return TransportFailure(FailureKind.CLOSED, f"connection closed: {text}")
