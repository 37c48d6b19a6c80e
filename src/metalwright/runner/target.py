"""Which blueprint and image a rebuild brings a node to: what was asked for, else what was last good on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalwright.errors import UsageError
from metalwright.imaging.catalogue import ImageCatalogue, parse_image_ref
from metalwright.journal.journal import Journal
from metalwright.model.addresses import KnownGood
from metalwright.model.image import Image
from metalwright.model.target import RebuildTarget, TargetImage
from metalwright.runner.custody import unfinished_run
from metalwright.workspace import Workspace

TARGET_CHOSEN, FALLBACK_CHOSEN = "rebuild target", "fallback target"


@dataclass(frozen=True)
class Wish:
    """What a person named: ``blueprint`` and ``image`` as ``name@version``; None is left to us."""

    blueprint: str | None = None
    image: str | None = None


def choose_target(workspace: Workspace, node: str, wish: Wish) -> RebuildTarget:
    """The target of a node.

    Without a wish: what was last accepted on it, by the journal, else by ``known-good.lock``; a node that was never
    accepted gets the first image of its blueprint's ``known_good`` that is in the catalogue, else the pinned one.

    Raises:
        UsageError: a name without a version, or an unknown blueprint.
        ImageError: the named image is not in the catalogue.
        PlanError: the blueprint that was last good is no longer in the site.
    """
    if wish.blueprint is not None or wish.image is not None:
        return _wished(workspace, node, wish)
    recorded = workspace.journal.nodes.known_good(node)
    if recorded is not None:
        return good_target(workspace, recorded.record, f"last known good, {recorded.since:%Y-%m-%d %H:%MZ}")
    locked = workspace.repository.known_good.of_node(node)
    if locked is not None:
        return good_target(workspace, locked, "last known good, by inventory/known-good.lock")
    pinned = workspace.repository.node(node).blueprint
    for image in listed_images(workspace, node)[:1]:
        return RebuildTarget(node=node, blueprint=pinned, image=image, source="known_good of the blueprint")
    return RebuildTarget(node=node, blueprint=pinned, source="as git pins; nothing was ever accepted on this node")


def at_targets(workspace: Workspace, targets: Iterable[RebuildTarget]) -> Workspace:
    """The workspace in which these nodes are to become what their targets say; what git pins anyway needs none."""
    others = [target for target in targets if not target.is_pinned_in(workspace.repository)]
    return workspace.with_targets({target.node: target for target in others})


def keep_target(workspace: Workspace, node: str, run: str) -> None:
    """Write down what the run brings the node to, so that ``resume`` knows it."""
    target = workspace.targets.get(node)
    if target is not None:
        detail = target.to_json()
        workspace.journal.events.note(TARGET_CHOSEN, node=node, run=run, why=target.source, detail=detail)


def keep_fallback(journal: Journal, run: str, fallback: RebuildTarget) -> None:
    """Write down before anything is done what the run's node is brought to once, should its acceptance fail."""
    detail = fallback.to_json()
    journal.events.note(FALLBACK_CHOSEN, node=fallback.node, run=run, why=fallback.source, detail=detail)


def kept_target(journal: Journal, node: str, run: str) -> RebuildTarget | None:
    """What an earlier process of the run wrote down; None: the run makes the node what git pins."""
    kept = [event for event in journal.events.of(node=node, run=run) if event.what == TARGET_CHOSEN]
    return RebuildTarget.model_validate(kept[-1].detail) if kept else None


def begun_targets(workspace: Workspace, nodes: Iterable[str]) -> tuple[RebuildTarget, ...]:
    """The targets that the unfinished runs of these nodes had; a node that git's pin counts for has none."""
    runs = {node: unfinished_run(workspace.journal, node) for node in nodes}
    kept = [kept_target(workspace.journal, node, run.run) for node, run in runs.items() if run is not None]
    return tuple(target for target in kept if target is not None)


def _wished(workspace: Workspace, node: str, wish: Wish) -> RebuildTarget:
    blueprint = wish.blueprint or workspace.repository.node(node).blueprint
    if blueprint not in workspace.repository.blueprints:
        known = ", ".join(sorted(workspace.repository.blueprints))
        raise UsageError("no such blueprint", where=blueprint, expected="NAME@VERSION", hint=f"known: {known}")
    image = None
    if wish.image is not None:
        image = pin_of(ImageCatalogue(workspace.paths.images).get(*parse_image_ref(wish.image)))
    return RebuildTarget(node=node, blueprint=blueprint, image=image, source="as asked for")


def good_target(workspace: Workspace, known: KnownGood, source: str) -> RebuildTarget:
    """The target that a known-good tuple names. Raises PlanError: the site does not have its blueprint any more."""
    name, _, version = known.image.partition("@")
    image = TargetImage(name=name, version=version, file_sha256=known.image_sha256)
    target = RebuildTarget(node=known.node, blueprint=known.blueprint, image=image, source=source)
    target.blueprint_in(workspace.repository)
    return target


def listed_images(workspace: Workspace, node: str) -> tuple[TargetImage, ...]:
    """The images that the node's blueprint lists as known good and that are in the catalogue, best first."""
    pin, catalogue = workspace.blueprint(node).image, ImageCatalogue(workspace.paths.images)
    there = {image.version: image for image in catalogue.list() if image.name == pin.name}
    return tuple(pin_of(there[version]) for version in pin.known_good if version in there)


def pin_of(image: Image) -> TargetImage:
    """The image as a target names it."""
    return TargetImage(name=image.name, version=image.version, file_sha256=image.file_sha256)
