"""Reads the YAML files of the profiles."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from ruamel.yaml import YAML


@functools.cache
def read_yaml(name: str) -> dict[str, Any]:
    """The data of ``NAME.yaml`` in this package; do not change it."""
    text = (resources.files(__package__) / f"{name}.yaml").read_text(encoding="utf-8")
    data: dict[str, Any] = YAML(typ="safe").load(text)
    return data


def file_names(folder: str) -> list[str]:
    """The names of the YAML files of a folder, without ending."""
    files = (resources.files(__package__) / folder).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))
