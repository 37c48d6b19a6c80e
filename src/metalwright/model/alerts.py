"""Alerts as a site writes them: what is wrong, what a person does about it, and the trace that proves each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from metalwright.model.base import Frozen, Slug, Text

AlertName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Za-z0-9]*$", strict=True)]
Duration = Annotated[str, StringConstraints(pattern=r"^[0-9]+[smhd]$", strict=True)]
Series = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*\{.*\}$", strict=True)]
"""A metric with its labels, as Prometheus writes it: ``up{node="n1"}``."""

Values = Annotated[
    str,
    StringConstraints(pattern=r"^(-?[0-9.]+(e[0-9]+)?([+-][0-9.]+(e[0-9]+)?)?(x[0-9]+)?|_(x[0-9]+)?)( \S+)*$"),
]
"""One value a minute in the notation of ``promtool test rules`` (``1x4 0x25``); a lone value stands for all of them."""

Subject = Literal["fleet", "node", "gpu", "fabric", "bmc"]
Severity = Literal["critical", "warning", "info"]
SUBJECTS: tuple[Subject, ...] = ("fleet", "node", "gpu", "fabric", "bmc")


class Alert(Frozen):
    """One alert rule.

    ``meaning``, ``cause`` and ``action`` are for a person who never saw it before; ``what`` is the line of one alert
    and may hold Prometheus' own placeholders. ``fault`` replaces series of the healthy trace; with it this alert, and
    beside it at most those of ``also``, must fire.
    """

    alert: AlertName
    severity: Severity
    expr: Text
    for_: Duration = Field(default="0s", alias="for")
    meaning: Text
    what: Text
    cause: Text
    action: Text
    runbook: Slug
    fault: dict[Series, Values] = Field(min_length=1)
    also: tuple[AlertName, ...] = ()


class AlertFile(Frozen):
    """``templates/prometheus/alerts/<subject>.yaml``: the healthy trace of a subject, and its alerts."""

    schema_version: Literal[1] = Field(alias="schema")
    subject: Subject
    healthy: dict[Series, Values] = Field(min_length=1)
    alerts: tuple[Alert, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_once(self) -> AlertFile:
        names = [alert.alert for alert in self.alerts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"alerts named twice: {', '.join(twice)}")
        return self
