"""Firewall rules that are in force, not only in a file."""

from __future__ import annotations

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.facts.nftables import InputPolicy
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, node_operation


@node_operation
def loaded(path: str, *, policy: str | None) -> Generator[StringCommand, None, None]:
    """Packets that no rule names meet ``policy`` (None: our table is gone); else the rules of ``path`` are loaded.

    nft loads a file in one transaction: a wrong one leaves the old rules in force.
    """
    found = answer(InputPolicy)
    if found == policy:
        host.noop("the rules are loaded")
    else:
        show_diff([line("packets that no rule names", found or "no rules are loaded", policy or "no rules of ours")])
        yield StringCommand("nft --file", QuoteString(path))
