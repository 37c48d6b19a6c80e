"""Released blueprints never change; nodes should stand on released ones."""

from __future__ import annotations

from collections.abc import Iterator

from metalwright.errors import LoadingError
from metalwright.loading.blueprint_lock import changed_blueprints
from metalwright.loading.checks.nodes import each_node
from metalwright.loading.site_files import SiteFiles


def check_releases(files: SiteFiles) -> Iterator[LoadingError]:
    """Every released file is there, byte for byte."""
    yield from changed_blueprints(files.paths.root, files.released)


def warn_of_unreleased(files: SiteFiles) -> Iterator[LoadingError]:
    """A node on a blueprint whose bytes may still change."""
    told: set[str] = set()
    for rack, index, node in each_node(files):
        ref = node.blueprint
        if ref in files.blueprints and ref not in files.released and ref not in told:
            told.add(ref)
            yield LoadingError(
                f"{ref} is not released, so its file may still change under the nodes that stand on it",
                where=rack.where("nodes", index, "blueprint"),
                hint=f"metalwright blueprint release {ref}",
            )
