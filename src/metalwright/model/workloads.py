"""Which acceptance tests are evidence that a server can carry a kind of workload."""

from __future__ import annotations

from collections.abc import Mapping

WORKLOAD_TESTS: Mapping[str, frozenset[str]] = {
    "control-plane": frozenset({"cpu-hash", "disk-read"}),
    "general": frozenset({"cpu-hash"}),
    "inference": frozenset({"dcgm-diag", "nccl-all-reduce"}),
    "storage": frozenset({"disk-read"}),
    "training": frozenset({"nccl-all-reduce"}),
}
"""Workload kind → tests, one of which (with a floor) must be in the blueprint's acceptance list."""
