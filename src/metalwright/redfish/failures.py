"""What a failed exchange means: one error for each kind, with method, URL, status and the BMC's own words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metalwright.errors import (
    BmcAnswerError,
    BmcAuthError,
    BmcCertificateError,
    BmcNoAnswerError,
    BmcRefusedError,
    BmcTlsError,
    BmcUnreachableError,
    RedfishError,
)
from metalwright.redfish.credentials import PASSWORD_VARIABLE, USER_VARIABLE
from metalwright.redfish.messages import describe, messages_in, redact, shorten
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import UNSENT, FailureKind, Request, Response, TransportFailure

CHECK_HINT = "check the address, the management network and that the BMC is up"
NOT_OFFERED = "this BMC does not offer it: update its firmware, or do it in its own menus"
ODD_ANSWER = "try again; if it stays so, restart the BMC or update its firmware"


def failure_error(state: BmcState, request: Request, failure: TransportFailure) -> RedfishError:
    """Return the error that a transport failure of ``request`` means."""
    where, detail = state.where(request.method, request.path), redact(failure.detail, state.secrets)
    if failure.kind in UNSENT:
        return unsent_error(where, failure.kind, detail)
    if failure.kind is FailureKind.ENDLESS:
        return BmcAnswerError(
            "the answer does not end", where=where, found=detail, hint="is this the address of a BMC?"
        )
    if request.is_read:
        is_slow = failure.kind is FailureKind.TIMEOUT
        return BmcUnreachableError(
            "the BMC does not answer in time" if is_slow else "the BMC breaks the connection off",
            where=where,
            found=detail,
            hint="give it more time, or look why this BMC is slow" if is_slow else CHECK_HINT,
        )
    return BmcNoAnswerError(
        "the request was sent and no answer came; it may have taken effect",
        where=where,
        found=detail,
        hint="read the resource before trying again",
    )


def unsent_error(where: str, kind: FailureKind, detail: str) -> RedfishError:
    """Return the error of a connection that never came about; no request was sent over it."""
    match kind:
        case FailureKind.CERTIFICATE:
            return BmcCertificateError(
                "the certificate of the BMC is not the pinned one; no credential was sent",
                where=where,
                expected="the certificate seen at first use",
                found=detail,
                hint="if it was changed on purpose, forget the pin of this BMC; else find out who answers at this "
                "address",
            )
        case FailureKind.TLS:
            return BmcTlsError(
                "no TLS connection: this host and the BMC do not agree on a protocol version or cipher",
                where=where,
                expected="TLS 1.2 or newer",
                found=detail,
                hint="old BMC firmware offers only old TLS: update it through the BMC's own page; the policy is not "
                "lowered and nothing was sent",
            )
        case FailureKind.NO_TLS:
            return BmcAnswerError(
                "whoever answers there does not speak TLS", where=where, found=detail, hint="is it an HTTPS port?"
            )
        case FailureKind.BAD_LINK:
            return BmcAnswerError("the BMC gives a link that is no URI", where=where, found=detail, hint=ODD_ANSWER)
    is_slow = kind is FailureKind.CONNECT_TIMEOUT
    what = "the BMC does not answer in time" if is_slow else "the BMC cannot be reached"
    return BmcUnreachableError(what, where=where, found=detail, hint=CHECK_HINT)


def refusal_error(
    state: BmcState, request: Request, response: Response, tags: Sequence[str | None] = ()
) -> RedfishError:
    """Return the error that a refusal (4xx, 5xx) means, with the BMC's own words and no secret in it.

    ``tags`` are the entity tags that were sent in vain, None for a request without condition.
    """
    messages = messages_in(response.json())
    details = _Details(
        where=state.where(request.method, request.path),
        status=response.status,
        ids=tuple(message.id for message in messages if message.id),
        found=describe(response, (*state.secrets, *request.secrets)),
    )
    if any(message.name == "PasswordChangeRequired" for message in messages):
        return details.auth_error(
            "the BMC wants its password changed before anything else", "run the credentials phase for this node"
        )
    if response.status == 401 and state.credentials is None:
        return details.auth_error(
            "the BMC wants a login, and none was given",
            f"set {USER_VARIABLE} and {PASSWORD_VARIABLE}, or name a node of the inventory",
        )
    if response.status == 401:
        return details.auth_error(
            "the BMC does not accept the credentials",
            "correct the credentials of this BMC; it is not tried again with the same ones",
        )
    if response.status in (412, 428):
        sent = ", ".join(f"If-Match: {tag}" if tag is not None else "no condition" for tag in tags)
        return details.refused(
            "the resource changed meanwhile, or the BMC does not recognise its own entity tag",
            expected=f"one of these accepted: {sent}" if sent else None,
            hint="look who else writes to this BMC, then try again",
        )
    return details.refused(
        "the BMC refused the request" if response.status < 500 else "the BMC failed to carry out the request",
        hint=_next_action(response.status, details.ids),
    )


_CHANGE_WAITS = "SYS011"
"""Dell's message for "pending values are already committed": one change or job waits, and no other is taken."""


def _next_action(status: int, ids: Sequence[str]) -> str:
    """What a person can do about a refusal, by the message where it is a known one, else by its status."""
    if any(item.rsplit(".", 1)[-1] == _CHANGE_WAITS for item in ids):
        return (
            "another change or job already waits on this BMC: restart the host, then run again; one that is stuck is "
            "removed with `pyinfra inventory/bmcs.py deploys/bios.py --limit NODE --data clear_jobs=ID`"
        )
    if status == 403:
        return "give the account that privilege, or see whether the BMC is in lockdown"
    if status in (404, 405, 501):
        return NOT_OFFERED
    if status >= 500:
        return "try again; if it stays so, restart the BMC"
    return "look what the BMC holds already (`metalwright sel`), and whether it is in lockdown"


@dataclass(frozen=True, slots=True)
class _Details:
    """What every error about a refusal tells."""

    where: str
    status: int
    ids: tuple[str, ...]
    found: str

    def auth_error(self, what: str, hint: str) -> BmcAuthError:
        return BmcAuthError(
            what, where=self.where, status=self.status, message_ids=self.ids, found=self.found, hint=hint
        )

    def refused(self, what: str, expected: str | None = None, hint: str | None = None) -> BmcRefusedError:
        return BmcRefusedError(
            what,
            where=self.where,
            status=self.status,
            message_ids=self.ids,
            expected=expected,
            found=self.found,
            hint=hint,
        )


def not_json_error(state: BmcState, request: Request, response: Response) -> BmcAnswerError:
    """Return the error for a success that is not a JSON object (a login page, plain text)."""
    return BmcAnswerError(
        "the answer is not a Redfish resource",
        where=state.where(request.method, request.path),
        status=response.status,
        expected="a JSON object",
        found=f"HTTP {response.status}; {response.content_type or 'no content type'}: "
        f"{shorten(redact(response.text, state.secrets))}",
        hint="is this the address of a BMC?",
    )
