"""Versions that blueprints pin: one version each, neither a word that moves nor a branch that holds many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalwright.errors import LoadingError
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint, Software
from metalwright.model.package import AGENT_PACKAGES

_MOVING = ("latest", "stable", "edge", "nightly", "main", "master", "head")
_BRANCH = re.compile(r"(?:\d+:)?v?\d+(?:\.\d+)?(?:\.[x_])?", re.IGNORECASE)
"""One or two numbers: every program that a blueprint pins has at least three."""

_STACK = ("driver", "subnet_manager", "container_toolkit", "dcgm", "rocm")
_EXAMPLES = {
    "driver": "580.95.05 (nvidia) or 6.12.12.60401 (amd)",
    "subnet_manager": "2025.06.11",
    "container_toolkit": "1.18.0",
    "dcgm": "4.4.1",
    "rocm": "6.4.1.60401",
    "version": "1.7.28",
}

Pin = tuple[tuple[str, ...], str, str]
"""Where it stands, the version, and the package that has versions."""


def check_versions(files: SiteFiles) -> Iterator[LoadingError]:
    """Of the image, the driver stack, the container runtime and the agents."""
    for blueprint in files.blueprints.values():
        image = blueprint.model.image.version
        if image.lower() in _MOVING:
            yield _moving(blueprint, ("image", "version"), image)
        for loc, version, package in _pins(blueprint.model.software):
            if version.lower() in _MOVING:
                yield _moving(blueprint, loc, version)
            elif _BRANCH.fullmatch(version):
                yield LoadingError(
                    f"{'.'.join(loc)} names a branch, which has many versions",
                    where=blueprint.where(*loc),
                    expected=f"an exact version such as {_EXAMPLES.get(loc[-1], '1.9.1')}",
                    found=version,
                    hint=f"`apt-cache madison {package}` on a node lists the versions of its package sources",
                )


def _pins(software: Software) -> Iterator[Pin]:
    accelerator, runtime = software.accelerator, software.container_runtime
    if accelerator is not None:
        driver = "amdgpu-dkms" if accelerator.vendor == "amd" else "'nvidia-driver*'"
        packages = {
            "driver": driver,
            "subnet_manager": "nvlsm",
            "container_toolkit": accelerator.vendor_toolkit,
            "dcgm": "'datacenter-gpu-manager*'",
            "rocm": "rocm-core",
        }
        for key in _STACK:
            version = getattr(accelerator, key)
            if version is not None:
                yield ("software", "accelerator", key), version, packages[key]
    if runtime is not None:
        yield ("software", "container_runtime", "version"), runtime.version, runtime.name
    for agent, version in software.agents.items():
        yield ("software", "agents", agent), version, AGENT_PACKAGES[agent].package


def _moving(blueprint: Loaded[Blueprint], loc: tuple[str, ...], version: str) -> LoadingError:
    return LoadingError(
        f"{'.'.join(loc)} names a version that moves",
        where=blueprint.where(*loc),
        expected="an exact version",
        found=version,
        hint="what is reviewed must be what is applied",
    )
