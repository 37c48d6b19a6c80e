"""Everything that can be known of a site offline: its files, its addresses, its BIOS attributes, its driver stacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from metalwright.accelerators.compatibility import Incompatibility, incompatibilities
from metalwright.acceptance.catalogue import KNOWN_TESTS
from metalwright.acceptance.offline import acceptance_errors, floor_warnings
from metalwright.allocations import reallocate
from metalwright.bios import find_problems
from metalwright.errors import AddressError, LoadingError
from metalwright.firmware.offline import component_doubts
from metalwright.imaging.boot_chain import boot_chain_errors
from metalwright.lifecycle.boot_method import barred_methods
from metalwright.loading import SitePaths, SiteReading, load_model, read_site
from metalwright.loading.blueprint_lock import read_blueprint_lock
from metalwright.loading.collection import paused_collection
from metalwright.model.blueprint import Blueprint
from metalwright.model.image import Image
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


class Findings(NamedTuple):
    """What cannot work, and what is not known of the rest."""

    errors: tuple[LoadingError, ...]
    warnings: tuple[LoadingError, ...]


def accelerator_findings(paths: SitePaths, repository: SiteRepository, today: date) -> Findings:
    """Every blueprint's driver stack against the compatibility table."""
    errors: list[LoadingError] = []
    warnings: list[LoadingError] = []
    for ref, blueprint in sorted(repository.blueprints.items()):
        found = incompatibilities(blueprint, kernel=_kernel_of(paths, blueprint), today=today)
        if not found:
            continue
        source = load_model(paths.blueprint(ref), Blueprint, root=paths.root)
        for item in found:
            error = _stack_error(item, source.where(*item.loc))
            (errors if item.level == "refused" else warnings).append(error)
    return Findings(tuple(errors), tuple(warnings))


def firmware_findings(paths: SitePaths, repository: SiteRepository) -> Findings:
    """Names of components in every blueprint, against those that BMCs are known to have and the site's own images."""
    errors: list[LoadingError] = []
    warnings: list[LoadingError] = []
    catalogued = {image.component for release in repository.firmware for image in release.images}
    for ref, blueprint in sorted(repository.blueprints.items()):
        doubts = tuple(component_doubts(blueprint, catalogued))
        source = load_model(paths.blueprint(ref), Blueprint, root=paths.root) if doubts else None
        for doubt in doubts:
            where = source.where(*doubt.loc, key=doubt.loc[0] == "firmware") if source is not None else ""
            error = LoadingError(doubt.what, where=where, expected=doubt.expected, found=doubt.found, hint=doubt.hint)
            error.rule = "firmware"
            (errors if doubt.level == "refused" else warnings).append(error)
    return Findings(tuple(errors), tuple(warnings))


def _stack_error(item: Incompatibility, where: str) -> LoadingError:
    error = LoadingError(item.what, where=where, expected=item.expected, found=item.found, hint=item.hint)
    error.rule = "accelerator"
    return error


def _kernel_of(paths: SitePaths, blueprint: Blueprint) -> str | None:
    """The newest kernel inside the image, where its catalogue entry is here and lists packages."""
    path = paths.images / blueprint.image.name / blueprint.image.version / "image.json"
    try:
        packages = Image.model_validate_json(path.read_bytes()).packages
    except (OSError, ValidationError):
        return None  # the image is elsewhere, or `loading` says what is wrong with the entry
    releases = [name.removeprefix("linux-image-") for name in packages if name.startswith("linux-image-")]
    return max((name for name in releases if name[:1].isdigit()), default=None, key=_numbers)


def _numbers(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]


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
