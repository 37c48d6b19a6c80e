"""Asking for a restart of the system: noted once, carried out by the runner, gone with the restart."""

from __future__ import annotations

from pathlib import PurePosixPath

from pyinfra.api import QuoteString, StringCommand

from metalwright.model.node_paths import RESTART_REASONS


def ask_for_restart(reason: str) -> StringCommand:
    """A command that notes the reason, once. ``provision`` restarts the system then and applies the deploys again."""
    path, directory = QuoteString(RESTART_REASONS), QuoteString(str(PurePosixPath(RESTART_REASONS).parent))
    return StringCommand(
        "install -d", directory, "&& { grep --quiet --line-regexp --fixed-strings", QuoteString(reason), path,
        "2>/dev/null || echo", QuoteString(reason), ">>", path, "; }",
    )  # fmt: skip
