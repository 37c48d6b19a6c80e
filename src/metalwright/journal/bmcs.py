"""What is remembered about BMCs: the certificate at first use, refused logins, and the current address."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from sqlalchemy import delete, insert, select, update

from metalwright.errors import BmcCertificateError
from metalwright.journal.database import Database
from metalwright.journal.events import Events
from metalwright.journal.records import BmcAddress, CertificatePin, RefusedLogin
from metalwright.journal.tables import AnnouncedPinRow, BmcAddressRow, CertificatePinRow, LatchRow
from metalwright.secrets.bmc_credentials import BmcCredentials


class CertificatePins:
    """Pins certificates at first use. Keys are node names, or addresses of BMCs that nobody has claimed yet."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def get(self, key: str) -> str | None:
        """Return the pinned SHA-256 fingerprint (64 hex digits), or ``None``."""
        pin = self.pin(key)
        return None if pin is None else pin.fingerprint

    def pin(self, key: str) -> CertificatePin | None:
        """Return the pin with the time of the first use."""
        statement = select(CertificatePinRow.__table__).where(CertificatePinRow.key == key)
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else CertificatePin.from_row(row)

    def record(self, key: str, fingerprint: str) -> None:
        """Keep the fingerprint of a first use; an announced one is proven by it.

        Raises BmcCertificateError when another one is pinned.
        """
        with self._database.write("pin_certificate") as connection:
            known = self.get(key)
            if known == fingerprint:
                return
            if fingerprint in self.announced(key):
                self.prove(key, fingerprint)
                return
            if known is not None:
                raise BmcCertificateError(
                    "the BMC shows another certificate than the pinned one",
                    where=key,
                    expected=known,
                    found=fingerprint,
                    hint="if the certificate was renewed on purpose, pin it anew; else look who answers there",
                )
            values = {"key": key, "fingerprint": fingerprint, "first_seen": self._database.clock()}
            connection.execute(insert(CertificatePinRow).values(**values))
            self._events.note("certificate pinned at first use", detail={"bmc": key, "fingerprint": fingerprint})

    def announced(self, key: str) -> frozenset[str]:
        """Return the fingerprints that the BMC may show instead of the pinned one, since they were made for it."""
        statement = select(AnnouncedPinRow.fingerprint).where(AnnouncedPinRow.key == key)
        with self._database.read() as connection:
            return frozenset(connection.execute(statement).scalars())

    def announce(self, key: str, fingerprint: str, why: str) -> None:
        """Accept a certificate beside the pinned one from now on: it is about to be installed. Audited."""
        with self._database.write("announce_pin") as connection:
            if fingerprint in self.announced(key):
                return
            values = {"key": key, "fingerprint": fingerprint, "at": self._database.clock(), "why": why}
            connection.execute(insert(AnnouncedPinRow).values(**values))
            self._events.act("certificate announced", why=why, detail={"bmc": key, "fingerprint": fingerprint})

    def withdraw(self, key: str, fingerprint: str, why: str) -> None:
        """Accept an announced certificate no longer: the BMC refused it."""
        with self._database.write("withdraw_pin") as connection:
            row = (AnnouncedPinRow.key == key) & (AnnouncedPinRow.fingerprint == fingerprint)
            connection.execute(delete(AnnouncedPinRow).where(row))
            self._events.note("certificate withdrawn", detail={"bmc": key, "fingerprint": fingerprint, "why": why})

    def prove(self, key: str, fingerprint: str) -> None:
        """Pin an announced certificate that the BMC has shown; the earlier pin and all announcements end. Audited.

        Raises BmcCertificateError when nobody announced it.
        """
        with self._database.write("prove_pin") as connection:
            before = self.get(key)
            if before == fingerprint:
                return
            if fingerprint not in self.announced(key):
                raise BmcCertificateError(
                    "nobody announced this certificate",
                    where=key,
                    expected=before,
                    found=fingerprint,
                    hint="look who answers there",
                )
            connection.execute(delete(CertificatePinRow).where(CertificatePinRow.key == key))
            connection.execute(delete(AnnouncedPinRow).where(AnnouncedPinRow.key == key))
            values = {"key": key, "fingerprint": fingerprint, "first_seen": self._database.clock()}
            connection.execute(insert(CertificatePinRow).values(**values))
            detail = {"bmc": key, "before": before, "fingerprint": fingerprint}
            self._events.act("certificate pin replaced", why="the BMC shows the announced one", detail=detail)


class RefusedLogins:
    """The login latch: a credential that a BMC refused is not tried there again, by any process, until cleared."""

    def __init__(self, database: Database, events: Events) -> None:
        self._database = database
        self._events = events

    def is_latched(self, key: str, credential_id: str) -> bool:
        """Return whether the BMC ``key`` refused this credential."""
        return any(item.credential_id == credential_id for item in self.of(key))

    def latch(self, key: str, credential_id: str, reason: str) -> None:
        """Remember a refusal; the first reason stays."""
        with self._database.write("latch_login") as connection:
            if not self.is_latched(key, credential_id):
                values = {"bmc": key, "credential_id": credential_id, "at": self._database.clock(), "why": reason}
                connection.execute(insert(LatchRow).values(**values))

    def of(self, key: str) -> tuple[RefusedLogin, ...]:
        """Return what a BMC refused, oldest first."""
        statement = select(LatchRow.__table__).where(LatchRow.bmc == key).order_by(LatchRow.at)
        with self._database.read() as connection:
            return tuple(RefusedLogin.from_row(row) for row in connection.execute(statement))

    def hand_over(self, key: str, node: str) -> None:
        """The BMC ``key`` was claimed for ``node``: what it refused, it refused as the BMC of that node."""
        for item in self.of(key):
            self.latch(node, item.credential_id, item.why)

    def clear(self, key: str, why: str) -> int:
        """Allow the credentials of a BMC to be tried again; audited. Returns how many were latched.

        A ``host:port`` means every BMC that was seen there: the key of an unclaimed one ends with its certificate.
        """
        with self._database.write("clear_latch") as connection:
            seen = (LatchRow.bmc == key) | LatchRow.bmc.startswith(f"{key} ", autoescape=True)
            count = connection.execute(delete(LatchRow).where(seen)).rowcount
            self._events.act("refused logins cleared", node=key, why=why, detail={"credentials": count})
        return count


class LoginLatch:
    """The latch as the Redfish client wants it: the remembered refusals and the key of the credential ids.

    ``hmac_key`` must be the same in every process that shares the journal
    (:func:`metalwright.secrets.latch_key`). The turns to log in are kernel locks in ``turns_dir``: they hold among the
    processes of this machine and end with their process.
    """

    def __init__(self, refused: RefusedLogins, hmac_key: bytes, turns_dir: Path) -> None:
        self._refused = refused
        self._hmac_key = hmac_key
        self._turns_dir = turns_dir
        self._turns: dict[str, int] = {}

    @classmethod
    def of(cls, refused: RefusedLogins, credentials: BmcCredentials) -> LoginLatch:
        """The latch of a site."""
        return cls(refused, credentials.latch_key, credentials.turns_dir)

    @property
    def hmac_key(self) -> bytes:
        """The secret under which credential ids are made."""
        return self._hmac_key

    def is_latched(self, key: str, credential_id: str) -> bool:
        """Return whether the BMC ``key`` refused this credential."""
        return self._refused.is_latched(key, credential_id)

    def latch(self, key: str, credential_id: str, reason: str) -> None:
        """Remember that the BMC ``key`` refused this credential."""
        self._refused.latch(key, credential_id, reason)

    def try_enter(self, key: str) -> bool:
        """Take the turn to log in at the BMC ``key``; False while another process, or another client here, has it."""
        self._turns_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._turns_dir / f"login-{sha256(key.encode()).hexdigest()[:16]}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._turns[key] = descriptor
        return True

    def leave(self, key: str) -> None:
        """Give the turn back."""
        descriptor = self._turns.pop(key, None)
        if descriptor is not None:
            os.close(descriptor)


class BmcAddresses:
    """Where the BMC of each node answered last: its DHCP address as racked, later its allocated one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, node: str, address: str, port: int, when: datetime) -> None:
        """Remember that the BMC of ``node`` answered there; an older sighting than the known one is ignored."""
        values = {"address": address, "port": port, "seen": when}
        with self._database.write("bmc_address") as connection:
            known = self.get(node)
            if known is None:
                connection.execute(insert(BmcAddressRow).values(node=node, **values))
            elif known.seen <= when:
                connection.execute(update(BmcAddressRow).where(BmcAddressRow.node == node).values(**values))

    def get(self, node: str) -> BmcAddress | None:
        """Return where the BMC of a node answered last."""
        statement = select(BmcAddressRow.__table__).where(BmcAddressRow.node == node)
        with self._database.read() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else BmcAddress.from_row(row)

    def all(self) -> tuple[BmcAddress, ...]:
        """Return every known address by node."""
        with self._database.read() as connection:
            rows = connection.execute(select(BmcAddressRow.__table__).order_by(BmcAddressRow.node))
            return tuple(BmcAddress.from_row(row) for row in rows)
