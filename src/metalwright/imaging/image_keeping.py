"""Which images of the catalogue somebody still counts on, and why: what nothing names may be collected.

Where something cannot be known (a journal that cannot be read), nothing is collected.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from metalwright.errors import ImageError
from metalwright.imaging.catalogue import ImageCatalogue
from metalwright.imaging.scratch import DELETING, find_leftovers, remove_tree
from metalwright.model.blueprint import Blueprint
from metalwright.model.image import Image
from metalwright.workspace import Workspace

_EVERY_EVENT: Final = 1_000_000


class Need(NamedTuple):
    """Somebody counts on an image: by name and version, by the digest of its file, or by both."""

    why: str
    ref: str | None = None
    sha256: str | None = None

    def is_of(self, image: Image) -> bool:
        """Whether it is this image. One of the two is enough: in doubt an image stays."""
        return image.ref == self.ref or image.file_sha256 == self.sha256


class Verdict(NamedTuple):
    """An image, and why it stays; nobody counts on one without a reason."""

    image: Image
    reasons: tuple[str, ...]


class Collection(NamedTuple):
    """What of the catalogue stays and what may go; ``leftovers`` are directories that killed processes left."""

    verdicts: tuple[Verdict, ...]
    leftovers: tuple[Path, ...]

    @property
    def unneeded(self) -> tuple[Image, ...]:
        """The images that nothing names."""
        return tuple(verdict.image for verdict in self.verdicts if not verdict.reasons)


def look_over(workspace: Workspace, catalogue: ImageCatalogue) -> Collection:
    """Judge every image of the catalogue.

    Raises:
        ImageError: an entry cannot be read.
        JournalError: the journal cannot be read.
    """
    needs = tuple(_needs(workspace))
    verdicts = (
        Verdict(image, tuple(dict.fromkeys(need.why for need in needs if need.is_of(image))))
        for image in catalogue.list()
    )
    return Collection(tuple(verdicts), find_leftovers(catalogue.root))


def collect(workspace: Workspace, catalogue: ImageCatalogue, image: Image) -> None:
    """Remove one image that nothing names, looking again just before: it disappears whole.

    Raises:
        ImageError: somebody counts on it by now, or it cannot be removed.
    """
    reasons = [need.why for need in _needs(workspace) if need.is_of(image)]
    if reasons:
        raise ImageError("the image is needed by now", where=image.ref, found="; ".join(reasons))
    directory = catalogue.directory(image.name, image.version)
    doomed = directory.with_name(f"{DELETING}{secrets.token_hex(6)}")
    try:
        directory.rename(doomed)
    except OSError as error:
        raise ImageError("the image cannot be removed", where=str(directory), found=error.strerror) from error
    workspace.journal.events.act("image collected", why="nothing names it", detail={"image": image.ref})
    remove_tree(doomed)


def _needs(workspace: Workspace) -> Iterator[Need]:
    yield from _pinned(workspace)
    yield from _known_good(workspace)
    yield from _in_runs(workspace)


def _pinned(workspace: Workspace) -> Iterator[Need]:
    """Blueprints that nodes pin, with the images that they may fall back to, and the blueprints to roll back to."""
    repository = workspace.repository
    used = sorted({node.blueprint for node in repository.nodes()})
    for ref in used:
        blueprint = repository.blueprints.get(ref)
        if blueprint is None:
            continue
        yield from _of_blueprint(blueprint, f"pinned by {ref}, which nodes use")
        for version in blueprint.image.known_good:
            yield Need(f"listed as known good by {ref}", ref=f"{blueprint.image.name}@{version}")
        previous = repository.blueprints.get(f"{blueprint.name}@{blueprint.rollback.previous}")
        if previous is not None:
            yield from _of_blueprint(previous, f"pinned by {previous.ref}, the way back from {ref}")


def _of_blueprint(blueprint: Blueprint, why: str) -> Iterator[Need]:
    pin = blueprint.image
    yield Need(why, f"{pin.name}@{pin.version}", pin.file_sha256)


def _known_good(workspace: Workspace) -> Iterator[Need]:
    """What was last accepted on each node, also on nodes that git does not have any more."""
    for known in workspace.repository.known_good.nodes:
        yield Need(f"known good on {known.node} (known-good.lock)", known.image, known.image_sha256)
    recorded = {node.name for node in workspace.repository.nodes()}
    recorded |= {status.node for status in workspace.journal.nodes.all()}
    for node in sorted(recorded):
        found = workspace.journal.nodes.known_good(node)
        if found is not None:
            yield Need(f"known good on {node} (journal)", found.record.image, found.record.image_sha256)


def _in_runs(workspace: Workspace) -> Iterator[Need]:
    """Unfinished runs with what they bring nodes to, deployments that are served, and grants that are valid."""
    journal, now = workspace.journal, datetime.now(UTC)
    for run in journal.runs.unfinished():
        for item in journal.runs.nodes_of(run.id):
            blueprint = workspace.repository.blueprints.get(item.blueprint)
            if blueprint is not None:
                yield from _of_blueprint(blueprint, f"run {run.id} on {item.node} is not finished")
        for event in journal.events.of(run=run.id, limit=_EVERY_EVENT):
            yield from _named_in(event.detail, f"run {run.id} on {event.node} is not finished")
    nodes = {node.name for node in workspace.repository.nodes()}
    for node in sorted(nodes):
        deployment = journal.deployments.newest_of_node(node, now)
        if deployment is not None and not deployment.state.is_final:
            task = deployment.task.image
            yield Need(f"a deployment of {node} is under way", f"{task.name}@{task.version}", task.file_sha256)
        for record in journal.grants.of_node(node):
            if record.spent is None and record.grant.expires > now:
                yield Need(f"grant {record.grant.id} allows to write it to {node}", sha256=record.grant.image_sha256)


def _named_in(detail: object, why: str) -> Iterator[Need]:
    """The images in what a run wrote down of its targets, and of what it falls back to."""
    if isinstance(detail, dict):
        if {"name", "version", "file_sha256"} <= detail.keys():
            yield Need(why, f"{detail['name']}@{detail['version']}", str(detail["file_sha256"]))
        for value in detail.values():
            yield from _named_in(value, why)
