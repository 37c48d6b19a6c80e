"""Hooks: the site's own programs that take workloads off a node before it is disturbed, and give it back when ready."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from metalwright.model.base import Frozen, Slug, Text
from metalwright.model.blueprint import Blueprint

HookKind = Literal["drain", "undrain"]
PLACEHOLDERS = ("node", "fqdn", "run", "reason")
"""What ``{…}`` in an argument may name."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")


class Hook(Frozen):
    """A program with its arguments, run without a shell; it fails when it exits with another status than 0.

    ``{node}``, ``{fqdn}``, ``{run}`` and ``{reason}`` in an argument are filled in; where none is used, node, run and
    reason follow as three more arguments. A program with a slash lies relative to the site. ``timeout_s`` in seconds.
    """

    command: tuple[Text, ...] = Field(min_length=1)
    timeout_s: Annotated[float, Field(gt=0, le=7 * 86400)] = 3600.0

    @field_validator("command")
    @classmethod
    def _names_known_values(cls, command: tuple[str, ...]) -> tuple[str, ...]:
        named = [name for argument in command for name in _PLACEHOLDER.findall(argument)]
        unknown = [name for name in named if name not in PLACEHOLDERS]
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"{{{unknown[0]}}} is not known to hooks; known are {known}")
        if _PLACEHOLDER.search(command[0]):
            raise ValueError("the program itself is not named by a placeholder")
        return command

    def arguments(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """The command with ``values`` filled in; every placeholder must have one."""
        filled = tuple(_PLACEHOLDER.sub(lambda found: values[found[1]], argument) for argument in self.command)
        is_filled = any(_PLACEHOLDER.search(argument) for argument in self.command)
        return filled if is_filled else (*filled, values["node"], values["run"], values["reason"])


class NodeHooks(Frozen):
    """Hooks of the nodes whose blueprint has one of ``roles``, is one of ``blueprints`` and has all ``labels``.

    What is left out does not narrow. ``undrain`` runs when a node that was drained is ready again.
    """

    roles: tuple[Slug, ...] = ()
    blueprints: tuple[Slug, ...] = ()
    labels: dict[str, Text] = Field(default_factory=dict)
    drain: Hook | None = None
    undrain: Hook | None = None

    @model_validator(mode="after")
    def _has_a_hook(self) -> NodeHooks:
        if self.drain is None and self.undrain is None:
            raise ValueError("neither drain nor undrain is given; to have none for these nodes, leave the entry out")
        return self

    def is_for(self, blueprint: Blueprint) -> bool:
        """Whether nodes of this blueprint have these hooks."""
        labels = blueprint.policy.labels
        return (
            (not self.roles or blueprint.server_class.role in self.roles)
            and (not self.blueprints or blueprint.name in self.blueprints)
            and all(labels.get(name) == value for name, value in self.labels.items())
        )
