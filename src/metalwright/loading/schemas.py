"""JSON Schemas of everything that people write or read, for editors and for other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from metalwright.errors import LoadingError
from metalwright.loading.field_texts import described
from metalwright.loading.files import write_atomically
from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint
from metalwright.model.certificate import Certificate
from metalwright.model.finding import MatchResult
from metalwright.model.network import Networks
from metalwright.model.plan import Plan
from metalwright.model.policies import Policies
from metalwright.model.rack import Rack
from metalwright.model.report import HardwareReport
from metalwright.model.review import Review
from metalwright.model.site import Site

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class HardwareReports(RootModel[tuple[HardwareReport, ...]]):
    """What ``metalwright inspect --json`` prints: one report a host system."""


class MatchOutput(Frozen):
    """What ``metalwright match --json`` prints."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    nodes: tuple[MatchResult, ...]


_WRITTEN: Mapping[str, type[BaseModel]] = {
    "blueprint": Blueprint,
    "site": Site,
    "networks": Networks,
    "rack": Rack,
    "policies": Policies,
}
_PRINTED: Mapping[str, type[BaseModel]] = {
    "hardware-report": HardwareReports,
    "match": MatchOutput,
    "plan": Plan,
    "review": Review,
    "certificate": Certificate,
}
MODELS: Mapping[str, type[BaseModel]] = {**_WRITTEN, **_PRINTED}
SCHEMA_NAMES = tuple(MODELS)


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of that name, one of ``SCHEMA_NAMES``.

    Raises:
        KeyError: no such schema.
    """
    if name in _WRITTEN:
        schema = _readable_text(_WRITTEN[name].model_json_schema(by_alias=True, mode="validation"))
    else:
        schema = _PRINTED[name].model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": DIALECT, **described(schema, MODELS[name].__name__)}


def write_schemas(directory: Path) -> tuple[Path, ...]:
    """Write all schemas as ``<directory>/<name>.json``; returns the files.

    Raises:
        LoadingError: the directory cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LoadingError("cannot make the directory", where=str(directory), found=error.strerror) from error
    written = []
    for name in SCHEMA_NAMES:
        path = directory / f"{name}.json"
        write_atomically(path, render_schema(name))
        written.append(path)
    return tuple(written)


def render_schema(name: str) -> str:
    """The schema as indented JSON text."""
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"


def _readable_text(schema: Any) -> Any:
    """Text fields also accept what an editor reads as a number or truth value: the loader keeps the source text."""
    if isinstance(schema, list):
        return [_readable_text(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _readable_text(value) for key, value in schema.items()}
    if changed.get("type") == "string" and "enum" not in changed and "const" not in changed:
        changed["type"] = ["string", "number", "boolean"]
    return changed
