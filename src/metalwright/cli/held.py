"""What has to happen next with nodes that are good, but are not what git pins."""

from __future__ import annotations

from collections.abc import Iterable

from metalwright.cli.context import CliContext
from metalwright.workspace import Workspace


def tell_held(cli: CliContext, workspace: Workspace, accepted: Iterable[str]) -> None:
    """Say for each accepted node that was brought to something else than git pins how it goes on."""
    for node in accepted:
        if node in workspace.targets:
            pinned = workspace.repository.node(node).blueprint
            cli.err.print(
                f"{node} is held: git pins {pinned}. Pin what it has now by a reviewed commit, or bring it to git's "
                f"pin with `metalwright rebuild {node} --blueprint {pinned}`",
                markup=False,
            )
