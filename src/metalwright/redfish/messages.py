"""The BMC's own words: ``@Message.ExtendedInfo`` in every shape that BMCs send it, and texts fit for an error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import quote

from metalwright.redfish.wire import Response

EXTENDED_INFO = "@Message.ExtendedInfo"
MAX_TEXT_CHARS = 300


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a message registry. ``name`` is the last part of the id: versions never matter."""

    id: str
    text: str
    args: tuple[str, ...] = ()
    severity: str = ""
    resolution: str = ""
    about: str = ""
    """The property that an annotation ``<property>@Message.ExtendedInfo`` stood at, or the first related one."""

    @property
    def name(self) -> str:
        """The id without registry and version: ``Base.1.8.PropertyUnknown`` gives ``PropertyUnknown``."""
        return self.id.rsplit(".", 1)[-1]


def _entries(value: Any) -> Iterator[dict[str, Any]]:
    """Yield message objects from an object, a list or nothing."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _message(entry: dict[str, Any], about: str = "") -> Message:
    args = entry.get("MessageArgs")
    related = entry.get("RelatedProperties")
    if not about and isinstance(related, list) and related:
        about = str(related[0]).removeprefix("#/")
    return Message(
        id=str(entry.get("MessageId") or entry.get("MessageID") or ""),
        text=str(entry.get("Message") or ""),
        args=tuple(str(arg) for arg in args) if isinstance(args, list) else (),
        severity=str(entry.get("MessageSeverity") or entry.get("Severity") or ""),
        resolution=str(entry.get("Resolution") or ""),
        about=about,
    )


def messages_in(body: Any) -> tuple[Message, ...]:
    """Return the messages of a body: those of ``error``, of the top level and of annotated properties.

    Accepts whatever a BMC sends (an object where a list belongs, missing, null, no object at all). An ``error`` object
    without ExtendedInfo gives one message made of its ``code`` and ``message``.
    """
    if not isinstance(body, dict):
        return ()
    found: list[Message] = []
    error = body.get("error")
    if isinstance(error, dict):
        found += [_message(entry) for entry in _entries(error.get(EXTENDED_INFO))]
        if not found and (error.get("code") or error.get("message")):
            found.append(Message(id=str(error.get("code") or ""), text=str(error.get("message") or "")))
    for key, value in body.items():
        if isinstance(key, str) and key.endswith(EXTENDED_INFO):
            about = key.removesuffix(EXTENDED_INFO)
            found += [_message(entry, about) for entry in _entries(value)]
    return tuple(found)


def shorten(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """Return ``text`` on one line without markup, cut at ``limit`` characters."""
    flat = " ".join(re.sub(r"<[^>]{0,200}>", " ", text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with every secret replaced: BMCs quote refused values, passwords included.

    A quoted value may be written as JSON, as XML or as a URL would write it.
    """
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "********")
    return text


def _forms(secret: str) -> tuple[str, ...]:
    return secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], escape(secret), quote(secret)


def describe(response: Response, secrets: Iterable[str] = ()) -> str:
    """Return status and the BMC's own messages in one line, for ``found`` of an error; secrets are replaced."""
    parts = [f"HTTP {response.status}"]
    messages = messages_in(response.json())
    for message in messages:
        text = " ".join(part for part in (message.id, message.text) if part)
        if message.args and not message.text:
            text += f" {list(message.args)}"
        if text:
            parts.append(text)
    if not messages and response.body.strip():
        parts.append(f"{response.content_type or 'no content type'}: {shorten(response.text)}")
    return shorten(redact("; ".join(parts), secrets), 600)
