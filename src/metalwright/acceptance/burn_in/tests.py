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

BURN_IN: Mapping[str, Measurement] = MappingProxyType(
    {**PROCESSOR_TESTS, **STORAGE_TESTS, **NETWORK_TESTS, **GPU_TESTS, **COLLECTIVE_TESTS}
)
"""Name as blueprints write it → test."""
