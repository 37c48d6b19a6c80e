"""Who may talk to the BMC: accounts, lock-out, sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from metalwright.simulator.service.answers import refuse
from metalwright.simulator.state import Account
from metalwright.simulator.system import SimulatedSystem


def make_account(number: str, user: str, password: str, role: str = "Administrator") -> Account:
    """A new account; the password is kept as a salted digest only."""
    salt = secrets.token_hex(8)
    return Account.model_validate(
        {"id": number, "user": user, "salt": salt, "digest": digest_password(salt, password), "role": role}
    )


def digest_password(salt: str, password: str) -> str:
    """The digest under which a password is kept (a simulator: fast on purpose)."""
    return hashlib.sha256(f"{salt}:{password}".encode()).hexdigest()


@dataclass
class Session:
    """One login; ``token`` is what the client sends as X-Auth-Token."""

    id: str
    token: str
    user: str
    client: str
    created: str
    last_used: float
    uses: int = 0


class Gate:
    """Authentication of one BMC. ``clock`` is in seconds."""

    def __init__(self, system: SimulatedSystem, clock: Callable[[], float]) -> None:
        self._system = system
        self._clock = clock
        self._next_id = 1
        self.sessions: dict[str, Session] = {}
        self.timeout_s = system.spec.bmc.session_timeout_s

    @property
    def lockout_threshold(self) -> int:
        """Wrong passwords in a row that lock an account; 0 never."""
        changed = self._system.state.lockout_threshold
        return self._system.spec.bmc.lockout_threshold if changed is None else changed

    @property
    def lockout_s(self) -> int:
        """How long a lock lasts."""
        changed = self._system.state.lockout_s
        return self._system.spec.bmc.lockout_s if changed is None else changed

    def check_password(self, user: str, password: str) -> Account:
        """The account that this name and password open; raises a 401 refusal."""
        account = next((a for a in self._system.state.accounts if a.user == user), None)
        if account is None:
            raise self._refused(user, "no such account")
        if not account.enabled and self._system.faults.take("disabled-login-accepted") is None:
            raise self._refused(user, "the account is disabled")
        if account.locked_until > self._clock():
            raise self._refused(user, "the account is locked")
        if not hmac.compare_digest(account.digest, digest_password(account.salt, password)):
            self._count_failure(account)
            raise self._refused(user, "wrong password")
        if account.failures:
            account.failures = 0
            self._system.save()
        return account

    def open_session(self, user: str, password: str, client: str) -> Session:
        """Log in; raises 401, or 503 when all sessions are taken."""
        account = self.check_password(user, password)
        self.expire()
        if len(self.sessions) >= self._system.spec.bmc.max_sessions:
            raise refuse("SessionLimitExceeded")
        session = Session(
            str(self._next_id), secrets.token_hex(16), account.user, client, self._system.now(), self._clock()
        )
        self._next_id += 1
        self.sessions[session.id] = session
        self._system.log.add("LoginSucceeded", user)
        return session

    def find_token(self, token: str) -> Account:
        """The account behind a session token; raises a 401 refusal."""
        self.expire()
        for session in self.sessions.values():
            if hmac.compare_digest(session.token.encode(), token.encode()):
                session.last_used = self._clock()
                session.uses += 1
                return self._account_of(session)
        raise refuse("NoValidSession")

    @property
    def open_sessions(self) -> int:
        """How many sessions are open now."""
        self.expire()
        return len(self.sessions)

    def uses_of(self, token: str | None) -> int:
        """How often a session token was used; 0 for none or an unknown one."""
        return next((session.uses for session in self.sessions.values() if session.token == token), 0)

    def expire(self) -> None:
        """Forget sessions that were idle too long."""
        oldest = self._clock() - self.timeout_s
        self.sessions = {number: s for number, s in self.sessions.items() if s.last_used >= oldest}

    def forget_user(self, user: str) -> None:
        """End all sessions of an account."""
        self.sessions = {number: s for number, s in self.sessions.items() if s.user != user}

    def _account_of(self, session: Session) -> Account:
        for account in self._system.state.accounts:
            is_let_in = account.enabled or self._system.faults.take("disabled-login-accepted") is not None
            if account.user == session.user and is_let_in:
                return account
        raise refuse("NoValidSession")

    def _count_failure(self, account: Account) -> None:
        account.failures += 1
        if self.lockout_threshold and account.failures >= self.lockout_threshold:
            seconds = self.lockout_s
            account.locked_until = self._clock() + seconds
            account.failures = 0
            self._system.log.add("AccountLocked", account.user, seconds)
        self._system.save()

    def _refused(self, user: str, why: str) -> Exception:
        self._system.log.add("LoginRefused", user, why)
        return refuse("ResourceAtUriUnauthorized", "/redfish/v1/SessionService/Sessions", "the login is not valid")
