"""Secrets out of texts that machines wrote themselves: logs and reports, before they are kept."""

from __future__ import annotations

import re
from typing import Any

from metalwright.secrets.value import MASK, redact

_VALUE = re.compile(
    r"""((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]{0,32}["']?"""
    r"""[ \t]{0,4}[=:][ \t]{0,4}["']?)([^\s"',;&]+)""",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(authorization:[ \t]*(?:basic|bearer|digest)[ \t]+)\S+", re.IGNORECASE)
_URL_LOGIN = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^\s/@:]{1,200}:[^\s/@]{1,200}@", re.IGNORECASE)
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)


def mask_secrets(text: str) -> str:
    """Return a text without what this process knows to be secret, and without what looks like a secret.

    That is the value after a word such as ``password`` or ``token``, the login of a URL, an authorization header and
    a private key. Each becomes ``***``; the words around it stay.
    """
    text = _PRIVATE_KEY.sub(rf"\1{MASK}\2", redact(text))
    text = _VALUE.sub(rf"\1{MASK}", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    return _URL_LOGIN.sub(rf"\1{MASK}@", text)


def mask_texts(value: Any) -> Any:
    """Return plain JSON data with every text in it masked; keys stay."""
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, dict):
        return {key: mask_texts(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_texts(item) for item in value]
    return value
