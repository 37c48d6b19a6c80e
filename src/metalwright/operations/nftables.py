"""Firewall rules that are in force, not only in a file."""

from __future__ import annotations

from collections.abc import Generator

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.facts.nftables import Firewall
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, node_operation


@node_operation
def loaded(path: str, *, policy: str | None) -> Generator[StringCommand, None, None]:
    """Packets that no rule names meet ``policy`` (None: our table is gone); the rules in force are those of ``path``.

    nft loads a file in one transaction: a wrong one leaves the old rules in force.
    """
    found = answer(Firewall)
    if found["policy"] == policy and found["is_as_written"]:
        host.noop("the rules are loaded")
        return
    if found["policy"] != policy:
        words = (found["policy"] or "no rules are loaded", policy or "no rules of ours")
        show_diff([line("packets that no rule names", *words)])
    else:
        show_diff([line("firewall rules in force", "others", f"those of {path}")])
    yield StringCommand("nft --file", QuoteString(path))
