"""Forms of a write that BMCs are known to want instead of the plain one, each under a name.

A refusal (4xx, and for media 5xx) means that nothing was done, so another form may be sent. :func:`wanted_forms` reads
the BMC's own messages, :func:`in_form` changes a request. The names of the forms that a BMC took are worth keeping: the
next BMC of the same platform is asked in that form at once (:class:`FormMemory`). Names::

    future-state              changes go to the sibling ``SD`` (AMI; DMTF/Redfish-Tacklebox #144)
    apply-time                no ``@Redfish.SettingsApplyTime`` (bmclib PR 458)
    media+NAME, media-NAME    with, without this parameter of a medium (sushy, gofish PR 290)
    update+NAME, update-NAME  with, without this parameter of a firmware update (DMTF/Redfish-Tacklebox #91, #99)
    boot+mode, boot-mode      with, without ``BootSourceOverrideMode`` (community.general #3509, bmclib PR 318)
    boot-target               disabling an override keeps its target (metal-operator PR 998)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from metalwright.redfish.messages import Message, messages_in
from metalwright.redfish.wire import Request, Response

MAX_FORMS = 3
"""How many forms of one write are sent at most."""

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
MEDIA_PARAMETERS = ("TransferProtocolType", "TransferMethod", "MediaType", "Inserted", "WriteProtected")
UPDATE_PARAMETERS = ("TransferProtocol", "Targets")
MODE = "BootSourceOverrideMode"
TARGET = "BootSourceOverrideTarget"


class FormMemory(Protocol):
    """Which forms the BMCs of a platform took; the journal keeps it, so that it counts for other processes too."""

    def recall(self, platform: str) -> tuple[str, ...]:
        """The names of the forms, oldest first."""
        ...

    def keep(self, platform: str, forms: Iterable[str]) -> None:
        """Keep exactly these names."""
        ...


class ForgetfulMemory:
    """Keeps the forms for the life of this object."""

    def __init__(self) -> None:
        self._forms: dict[str, tuple[str, ...]] = {}

    def recall(self, platform: str) -> tuple[str, ...]:
        """The names of the forms."""
        return self._forms.get(platform, ())

    def keep(self, platform: str, forms: Iterable[str]) -> None:
        """Keep exactly these names."""
        self._forms[platform] = tuple(forms)


def platform_of(root: Mapping[str, Any], key: str) -> str:
    """Return the platform of a BMC by its service root: maker and product; ``key`` where it tells neither."""
    words = [str(root.get(name) or "").strip() for name in ("Vendor", "Product")]
    return " ".join(word for word in words if word).lower() or key


def merged(forms: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Return both, where a later name takes the place of its opposite."""
    names = list(dict.fromkeys(forms))
    for name in more:
        names = [item for item in names if item not in (name, opposite(name))] + [name]
    return tuple(names)


def opposite(name: str) -> str:
    """Return the name of the form that is the contrary: ``boot+mode`` for ``boot-mode``."""
    return name.translate(str.maketrans("+-", "-+"))


def wanted_forms(request: Request, response: Response) -> tuple[str, ...]:
    """Return the names of the forms that a refusal asks for; nothing where it does not say what it wants."""
    if response.is_success or request.body is None:
        return ()
    messages = messages_in(response.json())
    return tuple(dict.fromkeys(name for rule in _RULES for name in rule(request, messages)))


def in_form(request: Request, names: Iterable[str]) -> Request:
    """Return the request in these forms; those that are about other requests change nothing."""
    for name in names:
        kind, _, detail = name.replace("+", "-").partition("-")
        change = _CHANGES.get(kind)
        if change is not None:
            request = change(request, detail, "+" in name)
    return request


def adapt(request: Request, response: Response) -> Request | None:
    """Return another form of the refused ``request`` that this BMC may take, or None."""
    other = in_form(request, wanted_forms(request, response))
    return None if other == request else other


# -- what a refusal asks for


def _wants_future_state(request: Request, messages: tuple[Message, ...]) -> Iterator[str]:
    if request.method == "PATCH" and any("FutureStateURI" in message.id for message in messages):
        yield "future-state"


def _wants_media_parameters(request: Request, messages: tuple[Message, ...]) -> Iterator[str]:
    if not _is_media(request):
        return
    for message in messages:
        for name in MEDIA_PARAMETERS:
            if _mentions(message, name):
                yield from _signed(message, f"media{{}}{name}")


def _wants_apply_time(request: Request, messages: tuple[Message, ...]) -> Iterator[str]:
    if APPLY_TIME not in (request.body or {}):
        return
    if any(APPLY_TIME in " ".join((m.about, *m.args)) or "SettingsApplyTime" in m.text for m in messages):
        yield "apply-time"


def _wants_boot(request: Request, messages: tuple[Message, ...]) -> Iterator[str]:
    boot = _boot_of(request)
    if boot is None:
        return
    about_mode = [name for item in messages if _mentions(item, MODE) for name in _signed(item, "boot{}mode")]
    yield from about_mode
    is_disabling = boot.get("BootSourceOverrideEnabled") == "Disabled" and boot.get(TARGET) == "None"
    if not about_mode and is_disabling and messages:
        yield "boot-target"


def _wants_update_parameters(request: Request, messages: tuple[Message, ...]) -> Iterator[str]:
    if not _is_update(request):
        return
    for message in messages:
        for name in UPDATE_PARAMETERS:
            if _mentions(message, name):
                yield from _signed(message, f"update{{}}{name}")


_RULES = (_wants_update_parameters, _wants_future_state, _wants_media_parameters, _wants_apply_time, _wants_boot)


def _signed(message: Message, name: str) -> Iterator[str]:
    if message.name in WANTED:
        yield name.format("+")
    elif message.name in UNWANTED:
        yield name.format("-")


def _is_update(request: Request) -> bool:
    return request.method == "POST" and request.path.rstrip("/").endswith("SimpleUpdate") and request.body is not None


def _mentions(message: Message, name: str) -> bool:
    words = (*message.args, message.about)
    return any(word.rsplit("/", 1)[-1].rsplit(".", 1)[-1] == name for word in words)


# -- what a form changes


def _future_state(request: Request, detail: str, is_added: bool) -> Request:
    del detail, is_added
    if _boot_of(request) is None or request.path.rstrip("/").endswith(("/SD", "/Settings")):
        return request
    return dataclasses.replace(request, path=f"{request.path.rstrip('/')}/SD", if_match=None)


def _media_parameter(request: Request, name: str, is_added: bool) -> Request:
    body = dict(request.body or {})
    if not _is_media(request) or not body.get("Image"):
        return request
    if is_added:
        scheme = urlsplit(str(body["Image"])).scheme.upper() or "HTTP"
        known = {"TransferProtocolType": scheme, "TransferMethod": "Stream", "MediaType": "CD"}
        body[name] = known.get(name, True)
    else:
        body.pop(name, None)
    return _with_body(request, body)


def _update_parameter(request: Request, name: str, is_added: bool) -> Request:
    body = dict(request.body or {})
    if not _is_update(request):
        return request
    if not is_added:
        body.pop(name, None)
    elif name == "TransferProtocol":
        body[name] = urlsplit(str(body.get("ImageURI"))).scheme.upper() or "HTTP"
    return _with_body(request, body)


def _apply_time(request: Request, detail: str, is_added: bool) -> Request:
    del detail, is_added
    return _with_body(request, {key: value for key, value in (request.body or {}).items() if key != APPLY_TIME})


def _boot_member(request: Request, what: str, is_added: bool) -> Request:
    boot = _boot_of(request)
    if boot is None:
        return request
    changed = dict(boot)
    is_disabling = boot.get("BootSourceOverrideEnabled") == "Disabled"
    if what == "mode" and is_added:
        changed.setdefault(MODE, "UEFI")
    elif what == "mode":
        changed.pop(MODE, None)
    elif what == "target" and is_disabling and boot.get(TARGET) == "None":
        changed.pop(TARGET)
    return _with_body(request, {**(request.body or {}), "Boot": changed})


_CHANGES: Mapping[str, Callable[[Request, str, bool], Request]] = {
    "future": _future_state,
    "media": _media_parameter,
    "update": _update_parameter,
    "apply": _apply_time,
    "boot": _boot_member,
}


def _boot_of(request: Request) -> Mapping[str, Any] | None:
    boot = (request.body or {}).get("Boot")
    return boot if request.method == "PATCH" and isinstance(boot, Mapping) else None


def _is_media(request: Request) -> bool:
    is_action = request.method == "POST" and request.path.endswith("VirtualMedia.InsertMedia")
    return is_action or (request.method == "PATCH" and "/VirtualMedia/" in request.path)


def _with_body(request: Request, body: Mapping[str, Any]) -> Request:
    return request if body == request.body else dataclasses.replace(request, body=dict(body), if_match=None)
