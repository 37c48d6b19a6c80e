"""All burn-in tests by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from metalwright.acceptance.burn_in.collectives import COLLECTIVE_TESTS
from metalwright.acceptance.burn_in.gpus import GPU_TESTS
from metalwright.acceptance.burn_in.measurement import Measurement
from metalwright.acceptance.burn_in.network import NETWORK_TESTS
from metalwright.acceptance.burn_in.processors import PROCESSOR_TESTS
from metalwright.acceptance.burn_in.storage import STORAGE_TESTS
from metalwright.model.blueprint import Blueprint

BURN_IN: Mapping[str, Measurement] = MappingProxyType(
    {**PROCESSOR_TESTS, **STORAGE_TESTS, **NETWORK_TESTS, **GPU_TESTS, **COLLECTIVE_TESTS}
)
"""Name as blueprints write it → test."""


LESS_IS_BETTER = frozenset({"time-sync"})
"""Tests with a limit of their own, whose value no floor can judge."""


def tool_packages(blueprint: Blueprint) -> tuple[str, ...]:
    """The Debian packages that bring the tools of the blueprint's tests, and those that see the ends of its cables."""
    gpus, links = blueprint.hardware.gpus, {group.link for group in blueprint.hardware.nics}
    tests = (BURN_IN[test.test] for test in blueprint.acceptance if test.test in BURN_IN)
    variants = (test.variant(gpus.vendor if gpus is not None else None) for test in tests)
    found = {variant.package for variant in variants if variant is not None and variant.is_debian}
    if blueprint.cabling:
        found |= {_CABLE_TOOLS[link] for link in links}
    return tuple(sorted(found - _EVERYWHERE))


_CABLE_TOOLS = {"ethernet": "lldpd", "infiniband": "infiniband-diags"}
_EVERYWHERE = {"coreutils", "chrony", "openssl"}
