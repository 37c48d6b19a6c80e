"""BIOS attributes of blueprints against the registries that the site keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metalwright.bios import find_problems
from metalwright.errors import LoadingError
from metalwright.loading import SitePaths, load_model
from metalwright.loading.blueprint_lock import read_blueprint_lock
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository
from metalwright.registries import read_registry


def bios_errors(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Blueprints whose registry is at hand; others are judged by the BMC's own registry before anything is written."""
    for ref, blueprint in sorted(repository.blueprints.items()):
        registry_path = paths.registry(blueprint.bios.registry) if blueprint.bios is not None else None
        if registry_path is not None and registry_path.exists():
            for error in _bios_of(paths, ref, blueprint, registry_path):
                error.rule = "bios"
                yield error


def bios_notes(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Profiles that nothing here can judge, one note a registry: of blueprints in use, and of those not yet released.

    A blueprint that is released and unused can neither change nor do harm.
    """
    in_use: dict[str, str] = {}
    for node in repository.nodes():
        if node.state != "retired":
            in_use.setdefault(node.blueprint, node.name)
    released = read_blueprint_lock(paths.root)
    told: set[str] = set()
    for ref, blueprint in sorted(repository.blueprints.items(), key=lambda item: (item[0] not in in_use, item[0])):
        profile = blueprint.bios
        if profile is None or profile.registry in told or (ref in released and ref not in in_use):
            continue
        if paths.registry(profile.registry).exists():
            continue
        told.add(profile.registry)
        count = len(profile.attributes)
        note = LoadingError(
            f"{count} BIOS attribute{'s' * (count != 1)} of {ref} not judged: the site does not have their registry",
            where=load_model(paths.blueprint(ref), Blueprint, root=paths.root).where("bios", "registry"),
            expected=f"the file {paths.registry(profile.registry)}",
            found="none; the BMC's own registry judges them before anything is written",
            hint=f"metalwright bios registry pull {in_use.get(ref, 'NODE')}, on a node with this BIOS version",
        )
        note.rule = "bios"
        yield note


def _bios_of(paths: SitePaths, ref: str, blueprint: Blueprint, path: Path) -> Iterator[LoadingError]:
    try:
        registry = read_registry(path, root=paths.root)
    except LoadingError as error:
        yield error
        return
    attributes = blueprint.bios.attributes if blueprint.bios is not None else {}
    problems = find_problems(registry, attributes)
    if not problems:
        return
    source = load_model(paths.blueprint(ref), Blueprint, root=paths.root)
    for problem in problems:
        yield LoadingError(
            f"this BIOS would refuse it: {problem.attribute} {problem.why}",
            where=source.where("bios", "attributes", problem.attribute, key=True),
            hint=f"what this BIOS knows is in {path}",
        )
