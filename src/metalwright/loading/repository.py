"""A site repository as one value, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.checks import ERROR_CHECKS, NOTE_CHECKS, WARNING_CHECKS, Check
from metalwright.loading.collection import paused_collection
from metalwright.loading.site_files import SiteFiles, linked_trees, read_site_files
from metalwright.loading.trees import tree_digest
from metalwright.model.repository import SiteRepository


@dataclass(frozen=True)
class SiteReading:
    """Outcome of reading a site: the repository if it is valid, all errors, all warnings, files read.

    ``notes`` say what could not be judged; they are never counted against a site.
    """

    repository: SiteRepository | None
    errors: tuple[LoadingError, ...]
    warnings: tuple[LoadingError, ...]
    files: int
    notes: tuple[LoadingError, ...] = ()


def load_site(root: Path) -> SiteRepository:
    """Everything that people wrote, cross-checked.

    Raises:
        LoadingError: ``root`` is no site repository.
        InvalidFilesError: all errors of all files at once, each with ``path:line:column``.
    """
    reading = read_site(root)
    if reading.repository is None:
        raise InvalidFilesError(reading.errors)
    return reading.repository


def read_site(root: Path, known_tests: Mapping[str, str | None] | None = None) -> SiteReading:
    """As ``load_site``, but errors and warnings are values.

    ``known_tests`` maps the acceptance tests that exist to their units; without it their names are not checked.

    Raises:
        LoadingError: ``root`` is no site repository.
    """
    linked = linked_trees(root)
    if linked:
        return SiteReading(None, linked, (), 0)
    with paused_collection():
        files = read_site_files(root)
        files.known_tests = known_tests
        errors = [*files.errors, *_found(ERROR_CHECKS, files)]
        warnings = tuple(_found(WARNING_CHECKS, files))
        notes = tuple(_found(NOTE_CHECKS, files))
        digest = _tree_digest(root, errors)
        repository = None if errors else _repository(files, digest)
    return SiteReading(repository, tuple(errors), warnings, files.read, notes)


def _found(checks: Iterable[Check], files: SiteFiles) -> Iterator[LoadingError]:
    """What the checks find, each error with the name of its check."""
    for check in checks:
        for error in check(files):
            error.rule = check.__name__.removeprefix("check_").removeprefix("warn_of_").removeprefix("note_")
            yield error


def _tree_digest(root: Path, errors: list[LoadingError]) -> str:
    try:
        return tree_digest(root)
    except LoadingError as error:
        errors.append(error)
        return ""


def _repository(files: SiteFiles, digest: str) -> SiteRepository | None:
    if files.site is None or files.networks is None:
        return None
    return SiteRepository(
        site=files.site.model,
        networks=files.networks.model.networks,
        racks=tuple(rack.model for rack in files.racks),
        firmware=tuple(release.model for release in files.firmware),
        blueprints={ref: blueprint.model for ref, blueprint in files.blueprints.items()},
        addresses=files.addresses,
        known_good=files.known_good,
        policies=files.policies.model if files.policies is not None else None,
        tree_digest=digest,
    )
