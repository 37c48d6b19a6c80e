"""Attribute registries as files of the site: ``blueprints/registries/<vendor>/<model>-<bios>.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metalwright.bios import AttributeRegistry, parse_registry
from metalwright.errors import LoadingError
from metalwright.loading import SitePaths, read_text

MAX_BYTES = 64 * 1024 * 1024


def read_registry(path: Path, *, root: Path) -> AttributeRegistry:
    """Raises LoadingError for a file that holds no registry."""
    text = read_text(path, root=root, max_bytes=MAX_BYTES)
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadingError("unreadable attribute registry", where=str(path), found=str(error)) from error
    registry = parse_registry(body) if isinstance(body, dict) else None
    if registry is None or not registry.attributes:
        raise LoadingError("not an attribute registry", where=str(path), expected="RegistryEntries.Attributes")
    return registry


def stored_registry(root: Path, name: str) -> AttributeRegistry | None:
    """The registry of that name (``vendor/model-bios``), or ``None`` where the site has none. Raises LoadingError."""
    path = SitePaths(root).registry(name)
    return read_registry(path, root=root) if path.exists() else None


def stored_names(root: Path) -> tuple[str, ...]:
    """The names of all registries of the site, sorted."""
    folder = SitePaths(root).registry("x").parent
    return tuple(sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.json")))
