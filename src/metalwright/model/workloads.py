"""Which acceptance tests are evidence that a server can carry a kind of workload."""

from __future__ import annotations

from collections.abc import Mapping

WORKLOAD_TESTS: Mapping[str, frozenset[str]] = {
    "control-plane": frozenset({"cpu-hash", "disk-read", "fio-read", "stress-cpu"}),
    "general": frozenset({"cpu-hash", "stress-cpu"}),
    "inference": frozenset({"dcgm-diag", "gpu-burn", "nccl-all-reduce"}),
    "storage": frozenset({"disk-read", "fio-randread", "fio-read"}),
    "training": frozenset({"nccl-all-reduce"}),
}
"""Workload kind → tests, one of which (with a floor) must be in the blueprint's acceptance list."""
