"""A site judged whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.offline import acceptance_errors, floor_warnings
from metalwright.allocations import reallocate
from metalwright.checking.bios_attributes import bios_errors, bios_notes
from metalwright.checking.components import firmware_findings
from metalwright.checking.stacks import accelerator_findings
from metalwright.errors import AddressError, LoadingError
from metalwright.imaging.boot_chain import boot_chain_errors
from metalwright.lifecycle.boot_method import barred_methods
from metalwright.loading import SitePaths, SiteReading, load_model, read_site
from metalwright.loading.collection import paused_collection
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository


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
    paths, stacks = SitePaths(root), accelerator_findings(SitePaths(root), reading.repository, today)
    components = firmware_findings(paths, reading.repository)
    errors = [
        *bios_errors(paths, reading.repository),
        *boot_chain_errors(paths, reading.repository),
        *stacks.errors,
        *components.errors,
        *acceptance_errors(paths, reading.repository),
        *boot_errors(paths, reading.repository),
    ]
    warnings = [*reading.warnings, *stacks.warnings, *components.warnings, *floor_warnings(paths, reading.repository)]
    try:
        warnings += _behind(SitePaths(root), reading.repository, today)
    except AddressError as error:
        errors.append(LoadingError(error.what, where=error.where, found=error.found, hint=error.hint))
    repository = None if errors else reading.repository
    notes = (*reading.notes, *bios_notes(paths, reading.repository))
    return replace(reading, repository=repository, errors=tuple(errors), warnings=tuple(warnings), notes=notes)


def _behind(paths: SitePaths, repository: SiteRepository, today: date) -> Iterator[LoadingError]:
    result = reallocate(repository, today)
    if result.has_changed:
        yield LoadingError(
            "addresses.lock is not up to date",
            where=str(paths.addresses),
            found=f"{len(result.lines)} lines to change, such as: {result.lines[0]}",
            hint="metalwright addresses allocate",
        )


def boot_errors(paths: SitePaths, repository: SiteRepository) -> Iterator[LoadingError]:
    """Nodes that cannot be imaged whatever their BMC offers: site or node rule out each declared way to boot."""
    for node in repository.nodes():
        declared = repository.blueprint_of(node.name).boot.method
        barred = barred_methods(repository.site, node)
        if node.state == "retired" or not all(method in barred for method in declared):
            continue
        source = load_model(paths.blueprint(node.blueprint), Blueprint, root=paths.root)
        error = LoadingError(
            f"{node.name} can be booted in no way that its blueprint declares",
            where=source.where("boot", "method"),
            found="; ".join(f"{method}: {barred[method]}" for method in declared),
            hint="docs/how-to/boot-over-the-network.md",
        )
        error.rule = "boot"
        yield error
