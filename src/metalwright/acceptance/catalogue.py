"""The tests that a blueprint may ask for by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

from metalwright.model.base import Frozen
from metalwright.model.blueprint import Blueprint


class KnownTest(Frozen):
    """One named test.

    ``runs`` says where its value comes from: ``node`` (the suite measures it over SSH), ``controller`` (the run that
    calls acceptance hands the value in), ``nowhere`` (the name is reserved; the verdict stays NOT-RUN).
    ``unit`` is the only unit that a floor may have.
    """

    runs: Literal["node", "controller", "nowhere"]
    unit: str | None
    what: str


KNOWN_TESTS = MappingProxyType(
    {
        "cpu-hash": KnownTest(runs="node", unit="MB/s", what="SHA-256 of one core, 16 KiB blocks, by openssl speed"),
        "disk-read": KnownTest(runs="node", unit="MB/s", what="sequential direct read of the disk under the root"),
        "boot-id": KnownTest(runs="node", unit=None, what="the boot that was tested, so that the results belong to it"),
        "power": KnownTest(runs="controller", unit="W", what="power drawn while idle, read from the BMC"),
        "nccl-all-reduce": KnownTest(runs="nowhere", unit="GB/s", what="bus bandwidth of an all-reduce over all GPUs"),
        "dcgm-diag": KnownTest(runs="nowhere", unit=None, what="NVIDIA's GPU diagnostics, level 3"),
    }
)


def catalogue_faults(blueprint: Blueprint) -> tuple[str, ...]:
    """What is wrong with the acceptance section: unknown names, names twice, floors in another unit. Empty: nothing."""
    faults = []
    names = [test.test for test in blueprint.acceptance]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.append(f"acceptance test {name} is listed twice")
    for test in blueprint.acceptance:
        known = KNOWN_TESTS.get(test.test)
        if known is None:
            faults.append(f"acceptance test {test.test} is unknown; known are {', '.join(sorted(KNOWN_TESTS))}")
        elif test.floor is not None and test.unit != known.unit:
            faults.append(f"acceptance test {test.test} is measured in {known.unit}, its floor is in {test.unit}")
    return tuple(faults)
