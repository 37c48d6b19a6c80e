"""The alerts of a site, read from ``templates/prometheus/alerts`` and checked together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import LoadingError
from metalwright.loading import SitePaths
from metalwright.loading.models import Loaded, load_model
from metalwright.loading.runbooks import list_runbooks
from metalwright.model.alerts import SUBJECTS, Alert, AlertFile

DIRECTORY = Path("prometheus") / "alerts"


@dataclass(frozen=True)
class AlertSet:
    """All alerts of a site, by subject in the order of ``SUBJECTS``."""

    files: tuple[AlertFile, ...]

    def __iter__(self) -> Iterator[Alert]:
        return (alert for file in self.files for alert in file.alerts)

    @property
    def healthy(self) -> dict[str, str]:
        """Series → values of a fleet in which no alert fires."""
        return {series: values for file in self.files for series, values in file.healthy.items()}


def read_alerts(root: Path) -> AlertSet:
    """The alerts of the site at ``root``.

    Raises:
        LoadingError: a file is missing or unreadable, an alert is named twice, names no runbook of the site, or its
            fault replaces nothing (InvalidFilesError for a file that has not the right shape).
    """
    directory = SitePaths(root).templates / DIRECTORY
    loaded = [load_model(path, AlertFile, root=root) for path in sorted(directory.glob("*.yaml"))]
    if not loaded:
        raise LoadingError(
            "the site has no alerts",
            where=str(directory),
            expected="a YAML file for each subject",
            hint="`metalwright init` in an empty directory brings them",
        )
    runbooks = {path.stem for path in list_runbooks(root)}
    seen: dict[str, str] = {}
    for file in loaded:
        for index, alert in enumerate(file.model.alerts):
            where = file.where("alerts", index)
            if alert.alert in seen:
                raise LoadingError(f"{alert.alert} is named twice", where=where, found=f"also {seen[alert.alert]}")
            seen[alert.alert] = where
            _check(file, index, alert, runbooks)
    return AlertSet(tuple(sorted((file.model for file in loaded), key=lambda model: SUBJECTS.index(model.subject))))


def _check(file: Loaded[AlertFile], index: int, alert: Alert, runbooks: set[str]) -> None:
    if alert.runbook not in runbooks:
        raise LoadingError(
            f"{alert.alert} leads to a runbook that is not there",
            where=file.where("alerts", index, "runbook"),
            expected=f"one of {', '.join(sorted(runbooks))}",
            found=alert.runbook,
        )
