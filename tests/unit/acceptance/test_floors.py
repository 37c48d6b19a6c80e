"""Published floors: one source a row, matched by system, and a warning for a floor that would let broken nodes pass."""

from __future__ import annotations

from typing import Any

import pytest
from tests.desired import blueprint

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.floors import floor_findings, published_floor, published_floors
from metalwright.model.blueprint import Blueprint


def system(vendor: str, model: str, count: int = 8, floor: float = 440) -> Blueprint:
    hardware: dict[str, Any] = blueprint().hardware.to_json()
    hardware["gpus"] = {"count": count, "vendor": vendor, "model": model}
    tests = [
        {"test": "nccl-all-reduce", "floor": floor, "unit": "GB/s"},
        {"test": "cpu-hash", "floor": 1, "unit": "MB/s"},
    ]
    return blueprint(hardware=hardware, acceptance=tests)


def test_every_row_names_a_known_test_and_a_source_and_stands_once() -> None:
    rows = published_floors()
    assert all(row.test in BURN_IN and row.source.startswith("https://") and row.floor > 0 for row in rows)
    assert len({(row.vendor, row.gpu, row.count, row.test) for row in rows}) == len(rows)
    assert all(BURN_IN[row.test].variant(row.vendor) is not None for row in rows)


@pytest.mark.parametrize(
    ("vendor", "model", "count", "floor"),
    [
        ("nvidia", "H100 SXM 80GB", 8, 460),
        ("nvidia", "H200 SXM 141GB", 8, 431),
        ("nvidia", "A100 SXM 80GB", 8, 228),
        ("amd", "Instinct MI300X", 8, 314),
        ("nvidia", "H100 SXM 80GB", 4, None),
        ("nvidia", "H100 PCIe", 8, None),
        ("nvidia", "B200", 8, None),
        ("amd", "H100 SXM 80GB", 8, None),
    ],
)
def test_a_floor_belongs_to_its_system_alone(vendor: str, model: str, count: int, floor: float | None) -> None:
    found = published_floor(system(vendor, model, count), "nccl-all-reduce")
    assert (found.floor if found is not None else None) == floor


def test_a_floor_far_below_the_published_one_is_found_and_an_unknown_system_said() -> None:
    def found(wanted: Blueprint) -> list[tuple[int, bool, bool]]:
        return [(item.index, item.published is not None, item.is_far_below) for item in floor_findings(wanted)]

    assert found(system("nvidia", "H100 SXM 80GB", floor=368)) == [(0, True, False)]
    assert found(system("nvidia", "H100 SXM 80GB", floor=367)) == [(0, True, True)]
    assert found(system("nvidia", "B200", floor=1)) == [(0, False, False)]
    assert found(blueprint()) == []
