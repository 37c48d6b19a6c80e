"""Firewall rules that are in force, not only in a file."""

from __future__ import annotations

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand, operation

from metalwright.facts.nftables import InputPolicy


@operation()
def loaded(path: str, *, policy: str | None) -> Generator[StringCommand, None, None]:
    """Packets that no rule names meet ``policy`` (None: our table is gone); else the rules of ``path`` are loaded.

    nft loads a file in one transaction: a wrong one leaves the old rules in force.
    """
    if host.get_fact(InputPolicy) == policy:
        host.noop("the rules are loaded")
    else:
        yield StringCommand("nft --file", QuoteString(path))
