"""What cannot work is refused with what would; what is not known is said, and never counts as a pass."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.accelerators.compatibility import incompatibilities
from metalwright.accelerators.packages import accelerator_setup
from metalwright.accelerators.table import (
    container_rows,
    driver_rows,
    find_branch,
    find_gpu,
    gpu_rows,
    modules_for,
    release_of,
)
from metalwright.model.blueprint import Blueprint

ROOT = Path(__file__).resolve().parents[3]
TODAY = date(2026, 11, 30)
Found = list[tuple[str, str]]


def blueprint(name: str, **changes: Any) -> Blueprint:
    """A shipped blueprint; ``gpus__count=4`` changes one key, of the driver stack where no section is named."""
    document = yaml.safe_load((ROOT / f"blueprints/gpu-{name}-8x/1.0.0.yaml").read_text())
    sections = {
        "gpus": document["hardware"]["gpus"],
        "policy": document["policy"],
        "runtime": document["software"]["container_runtime"],
    }
    for key, value in changes.items():
        section, _, field = key.rpartition("__")
        sections.get(section, document["software"]["accelerator"])[field] = value
    return Blueprint.model_validate(document)


def found(name: str, *, kernel: str | None = None, **changes: Any) -> Found:
    return [
        (item.level, ".".join(item.loc[-1:]))
        for item in incompatibilities(blueprint(name, **changes), kernel=kernel, today=TODAY)
    ]


@pytest.mark.parametrize("name", ["h100", "v100", "mi300x"])
def test_the_shipped_blueprints_are_known_to_work(name: str) -> None:
    assert found(name) == []


@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("h100", {"driver": "470.256.02"}, "driver"),
        ("v100", {"driver": "590.44.01"}, "driver"),
        ("v100", {"kernel_modules": "open"}, "kernel_modules"),
        ("h100", {"driver": "620.10", "kernel_modules": "proprietary"}, "driver"),
        ("h100", {"fabric_manager": False}, "fabric_manager"),
        ("h100", {"gpus__model": "H100 PCIe", "policy__power_cap_w": 300}, "fabric_manager"),
        ("h100", {"gpus__count": 4}, "fabric_manager"),
        ("h100", {"subnet_manager": "2025.06.11"}, "subnet_manager"),
        ("h100", {"container_toolkit": "1.11.0"}, "container_toolkit"),
        ("h100", {"runtime__version": "1.6.20"}, "version"),
        ("h100", {"cuda": "14.0"}, "cuda"),
        ("h100", {"rocm": "6.4.1.60401"}, "rocm"),
        ("h100", {"policy__power_cap_w": 900}, "power_cap_w"),
        ("v100", {"policy__mig": "enabled"}, "mig"),
        ("mi300x", {"policy__mig": "enabled"}, "mig"),
        ("mi300x", {"rocm": "7.14.0.71400"}, "rocm"),
        ("mi300x", {"dcgm": "4.4.1"}, "dcgm"),
        ("mi300x", {"fabric_manager": True}, "fabric_manager"),
        ("mi300x", {"kernel_modules": "proprietary"}, "kernel_modules"),
        ("mi300x", {"gpus__model": "MI355X", "policy__power_cap_w": 1000}, "driver"),
        ("mi300x", {"gpus__vendor": "nvidia", "gpus__model": "H100 SXM"}, "vendor"),
    ],
)
def test_what_cannot_work_is_refused_at_its_key(name: str, changes: dict[str, Any], key: str) -> None:
    assert [item for item in found(name, **changes) if item[0] != "warning"] == [("refused", key)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"gpus__model": "X9000 SXM"}, [("refused", "model")]),
        ({"gpus__model": "X9000 SXM", "kernel_modules": "open"}, [("unknown", "model")]),
        ({"driver": "777.10.01"}, [("unknown", "driver")]),
        ({"driver": "610.57.04"}, [("warning", "driver")]),
    ],
)
def test_what_is_not_known_is_said(changes: dict[str, Any], expected: Found) -> None:
    assert found("h100", **changes) == expected


def test_a_kernel_is_known_only_up_to_the_newest_that_was_tested() -> None:
    assert found("h100", driver="550.163.01", kernel="6.1.0-41-amd64") == []
    assert found("h100", driver="550.163.01", kernel="6.18.2-amd64") == [("unknown", "driver")]
    assert found("h100", kernel="6.1.0-41-amd64") == [("unknown", "driver")]


def test_a_refusal_names_the_nearest_that_works() -> None:
    (refusal,) = incompatibilities(blueprint("h100", driver="470.256.02", kernel_modules="proprietary"))
    assert (refusal.expected, refusal.found) == ("525.60.13 or newer", "470.256.02")
    assert refusal.hint is not None
    assert refusal.hint.startswith("nearest: 525.60.13; https://")


def test_a_board_with_new_switches_needs_its_subnet_manager_and_open_modules() -> None:
    base: dict[str, Any] = {"gpus__model": "B200 SXM 180GB", "policy__power_cap_w": 1000}
    assert found("h100", **base) == [("refused", "subnet_manager")]
    assert found("h100", **base, subnet_manager="2025.06.11", kernel_modules="proprietary") == [
        ("refused", "kernel_modules")
    ]
    assert found("h100", **base, subnet_manager="2025.06.11") == []
    old = found("h100", **base, subnet_manager="2025.06.11", driver="570.124.06")
    assert old == [("refused", "driver"), ("warning", "driver")]


def test_a_policy_for_gpus_needs_a_driver() -> None:
    document = yaml.safe_load((ROOT / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text())
    del document["software"]["accelerator"]
    got = [item.loc for item in incompatibilities(Blueprint.model_validate(document))]
    assert got == [("policy", "mig"), ("policy", "power_cap_w")]


@pytest.mark.parametrize(
    ("vendor", "model", "name"),
    [
        ("nvidia", "H100 SXM 80GB", "H100 SXM"),
        ("nvidia", "NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("nvidia", "NVIDIA A100-SXM4-40GB", "A100 SXM"),
        ("nvidia", "Tesla V100-SXM2-32GB", "V100 SXM2"),
        ("nvidia", "Tesla V100-PCIE-16GB", "V100 PCIe"),
        ("nvidia", "NVIDIA L40S", "L40S"),
        ("nvidia", "NVIDIA L4", "L4"),
        ("nvidia", "NVIDIA B200", "B200 SXM"),
        ("nvidia", "NVIDIA GB200", None),
        ("nvidia", "GeForce RTX 4090", None),
        ("amd", "AMD Instinct MI300X", "MI300X"),
        ("amd", "Instinct MI300A", "MI300A"),
        ("amd", "MI250X", "MI250"),
        ("amd", "H100 SXM", None),
    ],
)
def test_models_are_found_as_people_and_drivers_spell_them(vendor: str, model: str, name: str | None) -> None:
    row = find_gpu(vendor, model)
    assert (row.name if row is not None else None) == name


def test_modules_are_what_the_gpu_needs_and_else_what_the_branch_prefers() -> None:
    def chosen(model: str, driver: str) -> str | None:
        return modules_for(find_gpu("nvidia", model), find_branch("nvidia", driver))

    assert chosen("V100 SXM2", "580.95.05") == "proprietary"
    assert chosen("B200", "570.133.20") == "open"
    assert (chosen("H100 SXM", "550.163.01"), chosen("H100 SXM", "580.95.05")) == ("proprietary", "open")
    assert chosen("X9000", "580.95.05") is None


def test_amd_s_package_versions_end_in_the_release() -> None:
    assert release_of("amd", "6.12.12.60401") == "6.4.1"
    assert release_of("amd", "6.16.13.30300300") == "30.30.3"
    assert release_of("amd", "6.3.6") == "6.3.6"
    branch = find_branch("amd", "6.12.12.60401")
    assert branch is not None
    assert branch.branch == "6.4"


def test_every_row_has_a_source_and_every_model_is_found_by_its_own_name() -> None:
    sources = [row.source for row in gpu_rows()] + [row.source for row in driver_rows()]
    sources += [row.source for row in container_rows().values()]
    assert all(source.startswith("https://") for source in sources)
    assert [row.name for row in gpu_rows() if find_gpu(row.vendor, row.name) != row] == []


VERSIONS = st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}", fullmatch=True) | st.from_regex(r"[0-9A-Za-z.~+-]{1,12}")


@given(
    vendor=st.sampled_from(["nvidia", "amd"]),
    gpus=st.sampled_from(["nvidia", "amd", "intel"]),
    model=st.sampled_from([row.name for row in gpu_rows()]) | st.text(max_size=20),
    count=st.integers(1, 16),
    versions=st.fixed_dictionaries(
        {"driver": VERSIONS},
        optional=dict.fromkeys(("subnet_manager", "container_toolkit", "dcgm", "cuda", "rocm"), VERSIONS),
    ),
    cap=st.integers(1, 2000),
)
@settings(deadline=None)  # reads a blueprint each time: slow where processors are shared
def test_any_stack_is_judged_and_every_judgement_says_what_it_found(
    vendor: str, gpus: str, model: str, count: int, versions: dict[str, str], cap: int
) -> None:
    document = yaml.safe_load((ROOT / "blueprints/gpu-h100-8x/1.0.0.yaml").read_text())
    document["hardware"]["gpus"] = {"count": count, "vendor": gpus, "model": model}
    document["software"]["accelerator"] = {"vendor": vendor, **versions}
    document["policy"]["power_cap_w"] = cap
    try:
        wanted = Blueprint.model_validate(document)
    except ValueError:
        return
    judged = incompatibilities(wanted, kernel="6.1.0-41-amd64", today=TODAY)
    assert all(item.what and item.expected and item.found is not None for item in judged)
    if gpus != vendor or find_gpu(vendor, model) is None:
        assert judged
    accelerator_setup(wanted)
