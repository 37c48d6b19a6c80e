"""Canonical JSON and the digests made from it: one normal form, so that order, comments and blanks do not count."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no blanks. Models are dumped by alias in JSON mode.

    Raises:
        ValueError: not-a-number or infinity, which JSON cannot carry.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def digest(value: Any) -> str:
    """``sha256:`` and the hexadecimal digest of the canonical JSON of a value or model."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def recipe_digest(blueprint: Any, inputs: Any, tree_digest: str, tool_version: str) -> str:
    """What would be done to a node: blueprint, its rendered inputs, the deploy trees and the tool that applies them.

    ``inputs`` are the values of this node that templates render (name, addresses, networks, site settings); no
    secret and no time belongs in there.
    """
    return digest(
        {"blueprint": _plain(blueprint), "inputs": _plain(inputs), "trees": tree_digest, "tool": tool_version}
    )


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
