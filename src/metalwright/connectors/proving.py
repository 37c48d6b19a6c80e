"""Verbs of ``@redfish`` that prove something by trying it: who may log in, who may not, and whose clock is right."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from metalwright.connectors.secrets import BmcSecrets
from metalwright.errors import BmcAuthError, ReadBackError, RedfishError, SecretError
from metalwright.redfish import MemoryLatch
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.links import Topology, find
from metalwright.redfish.wire import Request

MAX_SKEW_S = 300.0
"""How far a BMC's clock may be off: certificates and log times still make sense."""

POLL_S = 1.0


def prove_staged(client: BlockingClient, secrets: BmcSecrets, restore_uri: str | None) -> list[str]:
    """Log in once with the staged credential, in a session of its own; then go on with that credential.

    Where it is refused, the account ``restore_uri`` gets the password back that works now: BMCs are known to cut
    passwords without a word. Raises BmcAuthError.
    """
    staged = secrets.staged()
    if staged is None:
        raise SecretError("no password is staged for this BMC")
    try:
        with BlockingClient(replace(client.contact, credentials=staged)) as probe:
            probe.login()
    except BmcAuthError as error:
        error.hint = _CUT_HINT + _restored(client, secrets, restore_uri)
        raise
    client.use(staged)
    return [f"user {staged.username} can log in"]


_CUT_HINT = "the BMC took the new password and does not accept it; does it cut long ones? see bmc_password_max_length"


def _restored(client: BlockingClient, secrets: BmcSecrets, uri: str | None) -> str:
    """Give an account its old password back in the session that is still open; returns what to say about it."""
    before = secrets.working()
    if uri is None or before is None:
        return "; the login that worked before still works"
    try:
        client.write(Request("PATCH", uri, {"Password": before.password}, secrets=(before.password,)))
    except RedfishError as error:
        return f"; its old password could not be put back ({error.what})"
    secrets.unstage()
    return "; its old password was put back"


def barred_key(key: str) -> str:
    """Under which name the latch remembers that a BMC refuses a factory password, as it should."""
    return f"{key} barred"


def is_barred(client: BlockingClient, secrets: BmcSecrets, user: str) -> bool:
    """Whether every factory password of ``user`` was seen refused by this BMC."""
    latch, key = client.contact.latch, barred_key(client.state.key)
    return all(latch.is_latched(key, item.identifier(latch.hmac_key)) for item in secrets.factory(user))


def prove_refused(client: BlockingClient, secrets: BmcSecrets, user: str, *, again: bool) -> list[str]:
    """Try each factory password of ``user`` once and see it refused; what was seen is remembered unless ``again``.

    Raises ReadBackError when one still opens the BMC.
    """
    latch, key = client.contact.latch, barred_key(client.state.key)
    for credentials in secrets.factory(user):
        name = credentials.identifier(latch.hmac_key)
        if latch.is_latched(key, name) and not again:
            continue
        probe = BlockingClient(replace(client.contact, credentials=credentials, latch=MemoryLatch()))
        with probe:
            try:
                probe.login()
            except BmcAuthError:
                latch.latch(key, name, f"user {user} is barred")
                continue
        raise ReadBackError(
            f"a factory password still opens the BMC as user {user}, although the account is disabled",
            where=client.state.where("POST", "/redfish/v1/SessionService/Sessions"),
            expected="login refused",
            found="login accepted",
            hint="give the account another password by hand, or update the BMC firmware",
        )
    return [f"user {user} cannot log in with a factory password"]


def set_clock(client: BlockingClient, topology: Topology, within_s: float) -> list[str]:
    """Wait for the BMC's clock to agree with ours; where it does not, set it, with NTP off for that moment.

    Raises ReadBackError when it is still wrong.
    """
    give_up_at = time.monotonic() + within_s
    while (skew_s := _skew_s(client, topology)) is not None and skew_s > MAX_SKEW_S:
        if time.monotonic() >= give_up_at:
            return _set_by_hand(client, topology)
        time.sleep(POLL_S)
    return ["the BMC does not tell its time" if skew_s is None else f"the BMC's clock is {skew_s:.0f} s off"]


def _set_by_hand(client: BlockingClient, topology: Topology) -> list[str]:
    manager = client.run(find(client.state, topology, "@manager"))
    protocol: Any = None
    with contextlib.suppress(RedfishError):
        protocol = client.run(find(client.state, topology, "@manager/NetworkProtocol"))
    ntp = protocol.value.get("NTP") if protocol is not None else None
    is_ntp = isinstance(ntp, dict) and ntp.get("ProtocolEnabled") is True
    if is_ntp:
        client.patch(protocol.uri, {"NTP": {"ProtocolEnabled": False}})
    client.patch(manager.uri, {"DateTime": datetime.now(UTC).isoformat(timespec="seconds")})
    if is_ntp:
        client.patch(protocol.uri, {"NTP": {"ProtocolEnabled": True}})
    skew_s = _skew_s(client, topology)
    if skew_s is None or skew_s > MAX_SKEW_S:
        raise ReadBackError(
            "the BMC's clock stays wrong",
            where=client.state.where("GET", manager.uri),
            expected=f"at most {MAX_SKEW_S:.0f} s off",
            found="unknown" if skew_s is None else f"{skew_s:.0f} s off",
            hint="check that the BMC reaches its NTP servers; a dead battery loses the time at each power cut",
        )
    return [f"the BMC's clock was set; it is {skew_s:.0f} s off"]


def _skew_s(client: BlockingClient, topology: Topology) -> float | None:
    body = client.run(find(client.state, topology, "@manager")).value
    return skew_s_of(body.get("DateTime"), datetime.now(UTC))


def skew_s_of(text: object, now: datetime) -> float | None:
    """Return how many seconds a Redfish ``DateTime`` is off, None where it cannot be read; without zone it is UTC."""
    try:
        seen = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return abs((seen if seen.tzinfo else seen.replace(tzinfo=UTC)).timestamp() - now.timestamp())
