"""Driver stacks of blueprints against the compatibility table."""

from __future__ import annotations

import re
from datetime import date

from pydantic import ValidationError

from metalwright.accelerators.compatibility import Incompatibility, incompatibilities
from metalwright.checking.findings import Findings
from metalwright.errors import LoadingError
from metalwright.loading import SitePaths, load_model
from metalwright.model.blueprint import Blueprint
from metalwright.model.image import Image
from metalwright.model.repository import SiteRepository


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
