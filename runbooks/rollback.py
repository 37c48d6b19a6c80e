#!/usr/bin/env python3
"""Bring a node back to what was last good on it, also when the journal is gone.

``runbooks/rollback.py NODE --to last-known-good`` is ``metalwright rebuild NODE`` over what
``inventory/known-good.lock`` in git says, with the same checks, the same questions and the same grant. Options that it
does not know (``--yes``, ``--overwrite NODE``, ``--until PHASE``) go to ``rebuild``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from metalwright.cli.app import run
from metalwright.errors import MetalwrightError, PlanError
from metalwright.loading import SitePaths, load_site

SITE = Path(__file__).resolve().parent.parent
LAST_KNOWN_GOOD = "last-known-good"
GIT = "git"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code of ``rebuild``, 1 for a refusal."""
    parser = argparse.ArgumentParser(prog="runbooks/rollback.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("node", help="a node of the inventory")
    parser.add_argument(
        "--to", default=LAST_KNOWN_GOOD, metavar="TARGET", help=f"{LAST_KNOWN_GOOD}, {GIT}, or a blueprint NAME@VERSION"
    )
    parser.add_argument(
        "--set-journal-aside", action="store_true", help="rename a damaged journal first, and go on with a new one"
    )
    asked, others = parser.parse_known_args(arguments)
    try:
        target = target_options(asked.node, asked.to)
        if asked.set_journal_aside:
            set_journal_aside()
    except (MetalwrightError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return run(["--site", str(SITE), "rebuild", asked.node, *target, *others])


def target_options(node: str, to: str) -> list[str]:
    """The options of ``rebuild`` for a target.

    Raises:
        PlanError: nothing was ever accepted on the node, as far as git knows.
        UsageError: no such node.
    """
    site = load_site(SITE)
    pinned = site.node(node).blueprint
    if to != LAST_KNOWN_GOOD:
        return ["--blueprint", pinned if to == GIT else to]
    if site.known_good.of_node(node) is None:
        raise PlanError(
            "nothing is known to be good on this node",
            where="inventory/known-good.lock",
            expected=f"a line of {node}",
            hint=f"pull the newest one, or name a target: --to {pinned}",
        )
    return []


def set_journal_aside() -> None:
    """Rename the journal and its log, so that nothing of them is lost and a new journal is made."""
    now = datetime.now(UTC)
    for path in sorted(SitePaths(SITE).state.glob("journal.sqlite*")):
        aside = path.with_name(f"set-aside-{now:%Y%m%dT%H%M%SZ}-{path.name}")
        path.rename(aside)
        sys.stderr.write(f"set aside: {aside}\n")


if __name__ == "__main__":
    sys.exit(main())
