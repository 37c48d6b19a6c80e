"""Certificate pins: the SHA-256 of the BMC's certificate, compared before any request is sent.

The whole certificate is pinned and not only its public key: both HTTP libraries compare exactly that on the very
connection that then carries the credential, so no own TLS code stands between; it is also what ``openssl x509
-fingerprint -sha256`` and most BMC web pages show. The price is that a renewed certificate must be pinned anew, which
the hardening phase does itself: the new one is *announced* before it is installed, from then on both are accepted, and
once the BMC has shown the announced one the earlier pin is dropped.

BMC certificates rarely name their address and are rarely signed by anybody, so names and dates are not looked at.
"""

from __future__ import annotations

import hashlib
import os
import ssl
from collections.abc import Collection, Mapping
from typing import Protocol

from metalwright.errors import UsageError
from metalwright.model.repository import SiteRepository

FINGERPRINT_VARIABLE = "METALWRIGHT_BMC_FINGERPRINT"


class PinStore(Protocol):
    """Knows which certificate each BMC showed at first use. Whether to trust a first use is its decision."""

    def get(self, key: str) -> str | None:
        """Return the pinned fingerprint (64 lower-case hex digits) of the BMC ``key``, or None."""

    def record(self, key: str, fingerprint: str) -> None:
        """Keep the fingerprint seen at first use, or raise a ``MetalwrightError`` to refuse it."""

    def announced(self, key: str) -> Collection[str]:
        """Return the fingerprints that the BMC may show beside the pinned one."""

    def prove(self, key: str, fingerprint: str) -> None:
        """Pin an announced fingerprint that the BMC has shown; the earlier pin and all announcements end."""


class MemoryPins:
    """Pins for one process; trusts every first use."""

    def __init__(self, pins: dict[str, str] | None = None) -> None:
        self.pins: dict[str, str] = {key: normalise(value) for key, value in (pins or {}).items()}
        self.announcements: dict[str, set[str]] = {}

    def get(self, key: str) -> str | None:
        """Return the pin of ``key``."""
        return self.pins.get(key)

    def record(self, key: str, fingerprint: str) -> None:
        """Keep the pin."""
        self.pins[key] = fingerprint

    def announced(self, key: str) -> Collection[str]:
        """Return what was announced in this process."""
        return self.announcements.get(key, set())

    def prove(self, key: str, fingerprint: str) -> None:
        """Keep the pin; nothing is announced any more."""
        self.pins[key] = fingerprint
        self.announcements.pop(key, None)


class HeldBackPins(MemoryPins):
    """Pins of another store, except that a first use is kept in memory alone: identity comes before trust."""

    def __init__(self, known: PinStore) -> None:
        super().__init__()
        self._known = known

    def get(self, key: str) -> str | None:
        """Return the pin of the other store, else the first use of this process."""
        return self._known.get(key) or super().get(key)

    def announced(self, key: str) -> Collection[str]:
        """Return the other store's announcements."""
        return self._known.announced(key)

    def prove(self, key: str, fingerprint: str) -> None:
        """Tell the other store."""
        self._known.prove(key, fingerprint)


class DeclaredPins:
    """Pins of another store, and for keys without one what somebody declared beforehand."""

    def __init__(self, known: PinStore, declared: Mapping[str, str]) -> None:
        self._known = known
        self._declared = {key: normalise(value) for key, value in declared.items()}

    def get(self, key: str) -> str | None:
        """Return the recorded pin, else the declared one."""
        return self._known.get(key) or self._declared.get(key)

    def record(self, key: str, fingerprint: str) -> None:
        """Keep the pin in the other store."""
        self._known.record(key, fingerprint)

    def announced(self, key: str) -> Collection[str]:
        """Return the other store's announcements; nothing is announced in rack files."""
        return self._known.announced(key)

    def prove(self, key: str, fingerprint: str) -> None:
        """Pin it in the other store, which from then on comes before what is declared."""
        self._known.prove(key, fingerprint)


def site_pins(repository: SiteRepository, known: PinStore) -> DeclaredPins:
    """Return the pins of a site: those of its journal, and those that its rack files declare for racked machines."""
    racked = repository.racked()
    return DeclaredPins(known, {item.name: item.bmc_fingerprint for item in racked if item.bmc_fingerprint is not None})


def pins_of_environment(key: str) -> MemoryPins:
    """Return the pin in METALWRIGHT_BMC_FINGERPRINT for the BMC ``key``, if it is set.

    Raises:
        UsageError: it is no fingerprint.
    """
    fingerprint = os.environ.get(FINGERPRINT_VARIABLE)
    try:
        return MemoryPins({key: fingerprint} if fingerprint else None)
    except ValueError as error:
        raise UsageError(str(error), where=FINGERPRINT_VARIABLE) from None


def fingerprint_of(certificate_der: bytes) -> str:
    """Return the SHA-256 of a DER certificate, as 64 lower-case hex digits."""
    return hashlib.sha256(certificate_der).hexdigest()


def normalise(fingerprint: str) -> str:
    """Return a fingerprint as people write it (colons, blanks, capitals, ``sha256:`` in front) in the form used here.

    Raises ValueError when it is not the SHA-256 of something.
    """
    digits = fingerprint.strip().lower().removeprefix("sha256:").replace(":", "").replace(" ", "")
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise ValueError("a certificate fingerprint is 64 hex digits (SHA-256)")
    return digits


def peer_context() -> ssl.SSLContext:
    """Return a TLS context that accepts any certificate, for looking at it before it is trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
