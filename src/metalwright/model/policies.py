"""The site's own rules for changes: ``inventory/policies.yaml``, each with a name that a review shows."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field, model_validator

from metalwright.model.base import Count, Frozen, Positive, Slug, Text
from metalwright.model.review import Risk


class Approvals(Frozen):
    """A change of this risk, or in these sections, needs ``count`` approvals from people of ``role``."""

    name: Slug
    kind: Literal["approvals"]
    risks: tuple[Risk, ...] = ()
    sections: tuple[Text, ...] = ()
    role: Slug
    count: Positive = 1

    @model_validator(mode="after")
    def _applies_to_something(self) -> Approvals:
        if not self.risks and not self.sections:
            raise ValueError(f"policy {self.name} names neither risks nor sections, so it would never apply")
        return self


class Canary(Frozen):
    """A blueprint version of this risk goes to at most ``nodes`` nodes until it is known good on so many."""

    name: Slug
    kind: Literal["canary"]
    risks: tuple[Risk, ...] = ("drain", "reboot", "re-image")
    nodes: Positive = 1


class Freeze(Frozen):
    """No change to nodes is merged between ``start`` and ``end`` (ISO 8601 with an offset)."""

    name: Slug
    kind: Literal["freeze"]
    start: datetime
    end: datetime
    why: Text = ""

    @model_validator(mode="after")
    def _is_a_period(self) -> Freeze:
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError(f"policy {self.name}: write times with an offset, such as 2026-12-20T00:00:00Z")
        if self.end <= self.start:
            raise ValueError(f"policy {self.name} ends before it starts")
        return self


class Removals(Frozen):
    """One change removes or retires at most ``nodes`` nodes."""

    name: Slug
    kind: Literal["removals"]
    nodes: Count = 2


class Blast(Frozen):
    """One change takes at most ``gpus`` GPUs out of service at once."""

    name: Slug
    kind: Literal["gpus-out"]
    gpus: Count


class Rebuilders(Frozen):
    """Only people of ``role`` may start a rebuild; ``rebuild`` asks, since no change of files is behind it."""

    name: Slug
    kind: Literal["rebuilders"]
    role: Slug


Policy = Approvals | Canary | Freeze | Removals | Blast | Rebuilders


class Policies(Frozen):
    """``inventory/policies.yaml``. ``roles`` maps a role to the people who have it."""

    schema_version: Literal[1] = Field(alias="schema")
    roles: dict[Slug, tuple[Text, ...]] = Field(default_factory=dict)
    policies: tuple[Policy, ...] = ()

    @model_validator(mode="after")
    def _roles_exist(self) -> Policies:
        names = [policy.name for policy in self.policies]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"policy {twice[0]} is written twice")
        for policy in self.policies:
            if isinstance(policy, (Approvals, Rebuilders)) and policy.role not in self.roles:
                raise ValueError(f"policy {policy.name} names the role {policy.role!r}, which nobody has")
        return self
