"""Names of firmware components in blueprints."""

from __future__ import annotations

from metalwright.checking.findings import Findings
from metalwright.errors import LoadingError
from metalwright.firmware.offline import component_doubts
from metalwright.loading import SitePaths, load_model
from metalwright.model.blueprint import Blueprint
from metalwright.model.repository import SiteRepository


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
