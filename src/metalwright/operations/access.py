"""Who may log in."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation

from metalwright.facts.system import KEYS_DIRECTORY, LoginNames


@operation()
def people(names: Sequence[str], *, keep: Sequence[str] = ()) -> Generator[StringCommand, None, None]:
    """An account for each of ``names``; no key file of anybody but them and ``keep``."""
    found = host.get_fact(LoginNames)
    missing = [name for name in names if name not in found["accounts"]]
    surplus = [name for name in found["keys"] if name not in (*names, *keep)]
    for name in missing:
        yield StringCommand("useradd --create-home --shell /bin/bash", QuoteString(name))
    for name in surplus:
        yield StringCommand("rm", QuoteString(f"{KEYS_DIRECTORY}/{name}"))
    if not missing and not surplus:
        host.noop("the declared people have accounts, and nobody else has keys")
