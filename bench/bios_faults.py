"""Twenty ways in which a BMC can spoil a BIOS profile, each with the cause and the next action that a person must read.

Causes and actions are written down here by hand, from what the fault is; the bench compares them with what was said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

SETTINGS, BIOS, RESET = r"/Bios/SD$", r"/Bios$", r"ComputerSystem\.Reset$"
SESSIONS, SYSTEM = r"/Sessions$", r"/Systems/[^/]+$"
_REGISTRY = r"BiosAttributeRegistry.*\.json$"


@dataclass(frozen=True)
class SpoiltBios:
    """``fault`` as the simulator's control port takes it; ``cause`` and ``action`` are regular expressions."""

    name: str
    fault: dict[str, Any]
    cause: str
    action: str

    def missing(self, said: str) -> str | None:
        """What of cause and next action ``said``, all that was printed about the node, does not tell; None: nothing."""
        text = " ".join(said.split())
        hints = " ".join(re.findall(r"hint: (.+?)(?= \[\w+\] |$)", text))
        if re.search(r"unexpected \w+Error", text):
            return "a programming error instead of a cause"
        if re.search(self.cause, text) is None:
            return "the cause"
        return None if re.search(self.action, hints) else "the next action"


def _rule(method: str, path: str, **do: Any) -> dict[str, Any]:
    return {"name": "rule", "method": method, "path": path, "do": do}


_READABLE = "HTTP {}.*did not tell its BIOS attributes, so nothing is changed"
_ANOTHER = [{"at": "/SerialNumber", "set": "ANOTHER"}, {"at": "/UUID", "drop": True}]
_LOCKED = [{"at": "/RegistryEntries/Attributes/*/ReadOnly", "set": True}]
_NOT_SHOWN = "accepted the change but does not show it.*expected: .*SR_IOVSupport = 'Enabled'.*found: .*'Disabled'"
_PATCH = r"PATCH \S+/Bios/SD: "

FAULTS = (
    SpoiltBios(
        *("no answer at all", {"name": "unreachable"}),
        *(r"GET \S+/redfish/v1/: the BMC breaks the connection off", "check the address, the management network"),
    ),
    SpoiltBios(
        *("TLS broken off", {"name": "handshake-closed"}),
        *(r"TLS to \S+: no TLS connection.*unexpected eof", "old BMC firmware offers only old TLS: update it"),
    ),
    SpoiltBios(
        *("silent", {"name": "connection-silent"}),
        *(r"TLS to \S+: the BMC does not answer in time.*no answer within 10 s", "check the address, the management"),
    ),
    SpoiltBios(
        *("all sessions taken", _rule("POST", SESSIONS, status=503, message="Base.1.18.SessionLimitExceeded")),
        *(
            r"POST \S+/Sessions: all sessions of the BMC are in use.*HTTP 503; Base\S+SessionLimitExceeded",
            "close other",
        ),
    ),
    SpoiltBios(
        *("login refused", _rule("POST", SESSIONS, status=401, message="Base.1.18.NoValidSession")),
        *(r"POST \S+/Sessions: the BMC refused the login of user 'ADMIN'.*HTTP 401", "correct the credential"),
    ),
    SpoiltBios(
        *("BIOS cannot be read: 500", _rule("GET", BIOS, status=500)),
        *(r"GET \S+/Bios: the BMC failed.*" + _READABLE.format(500), "try again; if it stays so, restart the BMC"),
    ),
    SpoiltBios(
        *("no BIOS resource", _rule("GET", BIOS, status=404)),
        *(r"GET \S+/Bios: the BMC refused.*" + _READABLE.format(404), "does not offer it: update its firmware"),
    ),
    SpoiltBios(
        "a web page instead of the BIOS",
        _rule("GET", BIOS, status=200, body="<html>busy</html>", content_type="text/html"),
        *(r"GET \S+/Bios: the answer is not a Redfish resource.*HTTP 200; text/html: busy", "address of a BMC"),
    ),
    SpoiltBios(
        *("no attributes shown", _rule("GET", BIOS, edit=[{"at": "/Attributes", "drop": True}])),
        *("shows no BIOS attributes", "start the host once.*restart the BMC"),
    ),
    SpoiltBios(
        *("no settings resource", _rule("GET", SETTINGS, status=404)),
        *("offers no place for BIOS changes", "update the BMC's firmware, or set the attributes in the setup menu"),
    ),
    SpoiltBios(
        *("write fails: 503", _rule("PATCH", SETTINGS, status=503)),
        *(_PATCH + "the BMC failed to carry out the request.*HTTP 503", "try again; if it stays so, restart the BMC"),
    ),
    SpoiltBios(
        *("another change waits", _rule("PATCH", SETTINGS, status=400, message="IDRAC.2.8.SYS011")),
        *(_PATCH + r"the BMC refused.*HTTP 400; IDRAC\S+SYS011", "already waits.*restart the host.*clear_jobs"),
    ),
    SpoiltBios(
        *("no privilege", _rule("PATCH", SETTINGS, status=403, message="Base.1.18.InsufficientPrivilege")),
        *(_PATCH + r"the BMC refused.*HTTP 403; Base\S+InsufficientPrivilege", "give the account that privilege"),
    ),
    SpoiltBios(
        "one attribute lost on the way",
        _rule("PATCH", SETTINGS, request=[{"at": "/Attributes/SR_IOVSupport", "drop": True}]),
        *(r"GET \S+/Bios/SD: the BMC " + _NOT_SHOWN, "look in the setup menu for a setup password or a lock"),
    ),
    SpoiltBios(
        *("write cut off", _rule("PATCH", SETTINGS, close="before")),
        *(_PATCH + "the request was sent and no answer came; it may have taken effect", "read the resource before"),
    ),
    SpoiltBios(
        *("attributes not applied", {"name": "bios-ignored"}),
        *(r"GET \S+/Bios: the BMC " + _NOT_SHOWN, "look in the setup menu for a setup password or a lock"),
    ),
    SpoiltBios(
        *("resets ignored", {"name": "reset-ignored"}),
        *(
            "accepted the request 2 times, but it had no effect within .*PowerState = 'On'",
            "lockdown, or .*another job",
        ),
    ),
    SpoiltBios(
        *("resets refused", _rule("POST", RESET, status=400, message="Base.1.18.ActionParameterNotSupported")),
        *(
            r"POST \S+Reset: the BMC refused.*HTTP 400; Base\S+ActionParameterNotSupported",
            "lockdown, or .*another job",
        ),
    ),
    SpoiltBios(
        *("another machine", _rule("GET", SYSTEM, edit=_ANOTHER)),
        "does not belong to the declared machine; nothing was written.*serial ANOTHER; uuid not told",
        "correct the rack file, or the address",
    ),
    SpoiltBios(
        *("registry forbids it", _rule("GET", _REGISTRY, edit=_LOCKED)),
        "would refuse 3 attributes.*SR_IOVSupport: is read-only by the registry",
        "nothing was written; correct the attributes",
    ),
)
"""Twenty ways to misbehave."""
