"""What facts of BMCs share: the command prints JSON, and the fact is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyinfra.api.exceptions import FactProcessError
from pyinfra.api.facts import FactBase

Json = dict[str, Any]


class RedfishFact(FactBase[Json | None]):
    """Base: the command prints JSON, ``read`` makes the fact of it."""

    abstract = True

    def process(self, output: list[str]) -> Json | None:
        """Return the fact; raises FactProcessError when the BMC's answer has another shape."""
        try:
            return self.read(json.loads("\n".join(output)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FactProcessError(f"{self.name}: the BMC's answer has another shape: {error}") from error

    def read(self, body: Any) -> Json:
        """Return the fact made of the decoded output."""
        return dict(body)


def as_object(value: Any) -> Json:
    """Return a JSON object, an empty one for anything else."""
    return dict(value) if isinstance(value, Mapping) else {}


def action_of(body: Mapping[str, Any], name: str) -> Json:
    """Return an action of a resource; an empty object where it is not offered."""
    return as_object(as_object(body.get("Actions")).get(name))


def texts(value: Any) -> list[str] | None:
    """Return a list of texts; None for anything else."""
    return [str(item) for item in value if item is not None] if isinstance(value, list) else None
