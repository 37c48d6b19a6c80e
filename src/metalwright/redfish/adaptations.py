"""Second forms of a write that a BMC refused: a short table of what BMCs are known to want instead.

A refusal (4xx, and for media 5xx) means that nothing was done, so another form may be sent. Each rule looks at the
request and at the BMC's own messages, and answers with one other request or with nothing. Rules are tried in order,
and a request is adapted a few times at most.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from metalwright.redfish.messages import Message, messages_in
from metalwright.redfish.wire import Request, Response

MAX_ADAPTATIONS = 3
APPLY_TIME = "@Redfish.SettingsApplyTime"
UNWANTED = frozenset(
    {
        "PropertyNotWritable",
        "PropertyUnknown",
        "PropertyNotSupported",
        "ActionParameterUnknown",
        "ActionParameterNotSupported",
        "PropertyValueNotInList",
    }
)
WANTED = frozenset({"ActionParameterMissing", "PropertyMissing", "CreateFailedMissingReqProperties"})
Rule = Callable[[Request, tuple[Message, ...]], Request | None]


def adapt(request: Request, response: Response) -> Request | None:
    """Return another form of the refused ``request`` that this BMC may take, or None."""
    if response.is_success or request.body is None:
        return None
    messages = messages_in(response.json())
    for rule in RULES:
        other = rule(request, messages)
        if other is not None and other != request:
            return other
    return None


def _mentions(message: Message, name: str) -> bool:
    words = (*message.args, message.about)
    return any(word.rsplit("/", 1)[-1].rsplit(".", 1)[-1] == name for word in words)


def _with_body(request: Request, body: Mapping[str, Any]) -> Request:
    return dataclasses.replace(request, body=dict(body), if_match=None)


def _is_insert(request: Request) -> bool:
    return request.method == "POST" and request.path.endswith("VirtualMedia.InsertMedia")


def _future_state(request: Request, messages: tuple[Message, ...]) -> Request | None:
    """AMI takes boot changes at the settings sibling only (DMTF/Redfish-Tacklebox #144)."""
    if request.method != "PATCH" or not any("FutureStateURI" in message.id for message in messages):
        return None
    return dataclasses.replace(request, path=f"{request.path.rstrip('/')}/SD", if_match=None)


def _insert_parameters(request: Request, messages: tuple[Message, ...]) -> Request | None:
    """Add the parameters that the BMC names as missing, drop those that it names as unknown (sushy, gofish)."""
    if not _is_insert(request) or request.body is None:
        return None
    body = dict(request.body)
    scheme = urlsplit(str(body.get("Image"))).scheme.upper() or "HTTP"
    known = {
        "TransferProtocolType": scheme,
        "TransferMethod": "Stream",
        "MediaType": "CD",
        "Inserted": True,
        "WriteProtected": True,
    }
    for message in messages:
        for name, value in known.items():
            if message.name in WANTED and _mentions(message, name):
                body[name] = value
            if message.name in UNWANTED and _mentions(message, name):
                body.pop(name, None)
    return _with_body(request, body) if body != request.body else None


def _apply_time(request: Request, messages: tuple[Message, ...]) -> Request | None:
    """Leave the apply time out when it is refused (bmclib PR 458)."""
    if request.body is None or APPLY_TIME not in request.body:
        return None
    if not any(APPLY_TIME in " ".join((m.about, *m.args)) or "SettingsApplyTime" in m.text for m in messages):
        return None
    return _with_body(request, {key: value for key, value in request.body.items() if key != APPLY_TIME})


def _boot(request: Request, messages: tuple[Message, ...]) -> Request | None:
    """Opposite demands about a boot override: mode not wanted, mode wanted, target kept when it is disabled."""
    boot = request.body.get("Boot") if request.body is not None else None
    if request.method != "PATCH" or not isinstance(boot, Mapping):
        return None
    changed = dict(boot)
    for message in messages:
        if message.name in UNWANTED and _mentions(message, "BootSourceOverrideMode"):
            changed.pop("BootSourceOverrideMode", None)
        if message.name in WANTED and _mentions(message, "BootSourceOverrideMode"):
            changed["BootSourceOverrideMode"] = "UEFI"
    is_disabling = boot.get("BootSourceOverrideEnabled") == "Disabled"
    if changed == dict(boot) and is_disabling and boot.get("BootSourceOverrideTarget") == "None":
        changed.pop("BootSourceOverrideTarget")
    return None if changed == dict(boot) else _with_body(request, {**(request.body or {}), "Boot": changed})


RULES: tuple[Rule, ...] = (_future_state, _insert_parameters, _apply_time, _boot)
