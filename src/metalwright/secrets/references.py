"""References to secrets that people keep: ``env:NAME``, ``file:PATH``, ``command:PROGRAM ARGS``.

One line end at the end is taken off, since editors and ``echo`` add it and a BMC would count a wrong login for it;
every other blank belongs to the secret.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from metalwright.errors import SecretError
from metalwright.secrets.programs import run_program
from metalwright.secrets.value import Secret

MAX_FILE_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


def read_secret(reference: str, base: Path) -> Secret:
    """Return the secret behind a reference; ``base`` is the site directory, for relative paths.

    Raises SecretError: nothing there, unreadable, empty, or an unknown kind of reference.
    """
    kind, _, rest = reference.partition(":")
    if kind == "env":
        text = _from_environment(rest, reference)
    elif kind == "file":
        text = _from_file(base / Path(rest).expanduser(), reference)
    elif kind == "command":
        text = without_line_end(run_program(rest, where=_name(reference)))
    else:
        raise SecretError("not a reference to a secret", where="secret", expected="env:…, file:… or command:…")
    if not text:
        raise SecretError("the secret is empty", where=_name(reference))
    if "\0" in text:
        raise SecretError("the secret holds a NUL character", where=_name(reference))
    return Secret(text)


def without_line_end(text: str) -> str:
    """Return a text without one LF or CRLF at its end."""
    if text.endswith("\n"):
        return text[:-2] if text.endswith("\r\n") else text[:-1]
    return text


def _from_environment(name: str, reference: str) -> str:
    if name not in os.environ:
        raise SecretError("the environment variable is not set", where=_name(reference), hint=f"export {name}=…")
    return _noted(os.environ[name], reference)


def _from_file(path: Path, reference: str) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise SecretError("too large for a secret", where=str(path), expected=f"at most {MAX_FILE_BYTES} bytes")
        return _noted(data.decode(), reference)
    except OSError as error:
        raise SecretError("the secret's file cannot be read", where=str(path), found=error.strerror) from error
    except UnicodeDecodeError:
        raise SecretError("the secret's file is not UTF-8 text", where=str(path)) from None


def _noted(text: str, reference: str) -> str:
    bare = without_line_end(text)
    if bare != text:
        _log.warning("%s ends in a line end, which is not taken as part of the secret", reference)
    return bare


def _name(reference: str) -> str:
    """Name a reference in errors; of a command only the program, since its arguments may be delicate."""
    kind, _, rest = reference.partition(":")
    return f"{kind}:{rest.split(maxsplit=1)[0] if kind == 'command' and rest.split() else rest}"
