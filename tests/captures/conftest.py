"""Captured Redfish trees of real machines stay outside the repository; METALWRIGHT_CAPTURES names their folder."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from metalwright.redfish.inventory import CapturedTree


def captures_dir() -> Path | None:
    """The folder with ``TRUTH.yaml`` and one JSON file a machine."""
    named = os.environ.get("METALWRIGHT_CAPTURES")
    return Path(named) if named and (Path(named) / "TRUTH.yaml").is_file() else None


@cache
def truth() -> dict[str, Any]:
    folder = captures_dir()
    return YAML(typ="safe").load((folder / "TRUTH.yaml").read_text(encoding="utf-8")) if folder is not None else {}


@cache
def load(machine: str) -> CapturedTree:
    folder = captures_dir()
    assert folder is not None
    return CapturedTree.load(folder / f"{machine}.json")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a machine and, where a test asks for a host, one a host of every machine."""
    names = list(truth())
    if "host_truth" in metafunc.fixturenames:
        hosts = [(name, host) for name in names for host in truth()[name]["systems"] if host["kind"] == "host"]
        ids = [f"{name}:{host['uri'].rpartition('/')[2]}" for name, host in hosts]
        metafunc.parametrize(("machine", "host_truth"), hosts or [_skipped(2)], ids=ids or None)
    elif "machine" in metafunc.fixturenames:
        metafunc.parametrize("machine", names or [_skipped(1)])


def _skipped(width: int) -> Any:
    mark = pytest.mark.skip(reason="METALWRIGHT_CAPTURES names no folder with TRUTH.yaml")
    return pytest.param(*[None] * width, marks=mark)
