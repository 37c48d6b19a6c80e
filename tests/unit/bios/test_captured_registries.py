"""Registries of real machines: what a machine has now is always accepted, and means no change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalwright.bios import compile_plan, infer_registry, parse_registry

CAPTURES = os.environ.get("METALWRIGHT_CAPTURES", "")


def _captures() -> list[Any]:
    if not CAPTURES:
        skip = pytest.mark.skip(reason="METALWRIGHT_CAPTURES names no directory of captured Redfish trees")
        return [pytest.param(Path(), marks=skip)]
    return [pytest.param(path, id=path.stem) for path in sorted(Path(CAPTURES).glob("*.json"))]


def _bodies(tree: dict[str, Any], key: str) -> Iterator[dict[str, Any]]:
    for uri, body in tree.items():
        if "bios" in uri.lower() and isinstance(body, dict) and isinstance(body.get(key), dict):
            yield body


@pytest.mark.parametrize("path", _captures())
def test_the_present_values_of_a_real_machine_are_no_change(path: Path) -> None:
    tree = json.loads(path.read_text())
    registries = list(_bodies(tree, "RegistryEntries"))
    for bios in _bodies(tree, "Attributes"):
        current = bios["Attributes"]
        registry = parse_registry(registries[0]) if registries else infer_registry(current)
        desired = {
            name: value
            for name, value in current.items()
            if name in registry.attributes
            and not registry.attributes[name].is_secret
            and isinstance(value, (str, int, bool))
        }
        plan = compile_plan(registry, desired, current)
        assert (plan.lines, plan.reboots) == ((), 0)
