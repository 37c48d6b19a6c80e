"""A secret that does not show itself, and the filter that takes secrets out of texts."""

from __future__ import annotations

import hmac
import json
import logging
from typing import NoReturn

MASK = "***"
_SHORTEST = 4
"""Shorter texts are not taken out: they would tear holes into everything else."""

_known: set[str] = set()


class Secret:
    """A text that only :meth:`reveal` gives away; ``repr``, ``str`` and ``format`` show ``***``."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text
        if len(text) >= _SHORTEST:
            _known.update({text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]})

    def reveal(self) -> str:
        """Return the secret itself."""
        return self._text

    def __repr__(self) -> str:
        return MASK

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return MASK

    def __len__(self) -> int:
        return len(self._text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(("Secret", self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere as an object; reveal it where it is needed")


def redact(text: str) -> str:
    """Return a text with every secret of this process replaced by ``***``."""
    for known in sorted(_known, key=len, reverse=True):
        if known in text:
            text = text.replace(known, MASK)
    return text


class RedactingFilter(logging.Filter):
    """Takes secrets out of log records, tracebacks included; add it to every handler."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; always lets it pass."""
        record.msg, record.args = redact(record.getMessage()), ()
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        return True
