"""Descriptions and examples of the fields of all models, for JSON Schemas: one table a file, beside this one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class FieldText:
    """One sentence, and a value as JSON has it."""

    description: str
    example: Any


@cache
def field_texts() -> Mapping[str, Mapping[str, FieldText]]:
    """Name of a model → field (as people write it) → its text."""
    tables: dict[str, dict[str, FieldText]] = {}
    for path in sorted(files(__name__).iterdir(), key=lambda item: item.name):
        if path.name.endswith(".toml"):
            for model, fields in tomllib.loads(path.read_text(encoding="utf-8")).items():
                tables[model] = {name: FieldText(text, _plain(value)) for name, (text, value) in fields.items()}
    return tables


def described(schema: dict[str, Any], model: str) -> dict[str, Any]:
    """The JSON Schema of ``model`` and its parts, each property with its description and example."""
    parts = {model: schema, **schema.get("$defs", {})}
    for name, part in parts.items():
        texts = field_texts().get(name, {})
        for field, value in part.get("properties", {}).items():
            if field in texts:
                value["description"] = texts[field].description
                value["examples"] = [texts[field].example]
    return schema


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
