"""Everything that can be known of a site offline: its files, its addresses, and its BIOS attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.allocations import reallocate
from metalwright.bios import find_problems
from metalwright.errors import AddressError, LoadingError
from metalwright.loading import SitePaths, SiteReading, load_model, read_site
from metalwright.loading.collection import paused_collection
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository
from metalwright.registries import read_registry


def examine(root: Path, today: date) -> SiteReading:
    """Read a site and judge it whole.

    Raises:
        LoadingError: ``root`` is no site repository.
    """
    with paused_collection():
        return _examine(root, today)


def _examine(root: Path, today: date) -> SiteReading:
    reading = read_site(root, {name: test.unit for name, test in KNOWN_TESTS.items()})
    if reading.repository is None:
        return reading
    errors = [*bios_errors(SitePaths(root), reading.repository)]
    warnings = list(reading.warnings)
    try:
        warnings += _behind(SitePaths(root), reading.repository, today)
    except AddressError as error:
        errors.append(LoadingError(error.what, where=error.where, found=error.found, hint=error.hint))
    repository = None if errors else reading.repository
    return replace(reading, repository=repository, errors=tuple(errors), warnings=tuple(warnings))


def _behind(paths: SitePaths, repository: SiteRepository, today: date) -> Iterator[LoadingError]:
    result = reallocate(repository, today)
    if result.has_changed:
        yield LoadingError(
            "addresses.lock is not up to date",
            where=str(paths.addresses),
            found=f"{len(result.lines)} lines to change, such as: {result.lines[0]}",
            hint="metalwright addresses allocate",
        )


def bios_errors(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Blueprints whose registry is at hand; others are judged by the BMC's own registry before anything is written."""
    for ref, blueprint in sorted(repository.blueprints.items()):
        registry_path = paths.registry(blueprint.bios.registry) if blueprint.bios is not None else None
        if registry_path is not None and registry_path.exists():
            for error in _bios_of(paths, ref, blueprint, registry_path):
                error.rule = "bios"
                yield error


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
            f"this BIOS would refuse {problem}",
            where=source.where("bios", "attributes", problem.attribute, key=True),
            expected=f"what {path} allows",
        )
