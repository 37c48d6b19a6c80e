"""No text makes a parser fail, and no text makes it invent a value."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accelerators.texts import names, origin, text

from metalwright.accelerators import amd_smi, dcgm, nccl_tests, nvidia_smi, rocm_smi, xid
from metalwright.accelerators.quantities import number, pci_address, said, size_bytes, switch, whole

PARSERS: dict[str, Callable[[str], object]] = {
    "nvidia-smi": nvidia_smi.parse,
    "rocm-smi": rocm_smi.parse,
    "amd-smi": amd_smi.parse,
    "dcgm": dcgm.parse,
    "nccl": nccl_tests.parse,
    "kernel-log": xid.events,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("tool", PARSERS)
@given(anything=st.text(max_size=200))
def test_any_text_is_answered(tool: str, anything: str) -> None:
    PARSERS[tool](anything)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, str]:
    """A tool, and one of its outputs cut short with a piece replaced."""
    name = draw(st.sampled_from(names()))
    whole_text = text(name)
    start = draw(st.integers(0, len(whole_text)))
    length = draw(st.integers(0, 40))
    noise = draw(st.text(max_size=20))
    end = draw(st.integers(start, len(whole_text)))
    tool = next(tool for tool in PARSERS if name.startswith(tool))
    return tool, whole_text[:start] + noise + whole_text[min(start + length, end) : end]


@given(damaged())
def test_any_damage_is_answered(case: tuple[str, str]) -> None:
    tool, damaged_text = case
    PARSERS[tool](damaged_text)


@pytest.mark.parametrize("tool", ["rocm-smi", "amd-smi", "dcgm"])
@given(value=JSON)
def test_any_json_is_answered(tool: str, value: object) -> None:
    keys = ("card0", "system", "gpu_data", "DCGM Diagnostic", "DCGM GPU Diagnostic", "metadata")
    PARSERS[tool](json.dumps(value))
    PARSERS[tool](json.dumps(dict.fromkeys(keys, value)))
    inner = {"gpu": 0, "asic": value, "limit": value, "vram": {"size": value}, "bus": value, "driver": value}
    PARSERS[tool](json.dumps([inner]))
    tests = [{"name": value, "results": [{"gpu_ids": value, "status": value, "warnings": value}]}]
    PARSERS[tool](json.dumps({"DCGM Diagnostic": {"test_categories": [{"category": value, "tests": tests}]}}))


@given(st.text(max_size=30))
def test_a_quantity_is_what_the_text_begins_with_or_nothing(anything: str) -> None:
    for reader in (number, whole, switch, said, size_bytes, pci_address):
        reader(anything)
    if not any(character.isdigit() for character in anything):
        assert number(anything) is None
        assert pci_address(anything) is None


@pytest.mark.parametrize("silent", ["N/A", "", "GPU is lost", "[Not Supported]", "Unknown Error", None, [], {}])
def test_what_is_no_value_is_unknown_never_zero(silent: object) -> None:
    assert (number(silent), whole(silent), switch(silent), said(silent), size_bytes(silent)) == (None,) * 5


@given(st.integers(0, 10**12), st.sampled_from(["MiB", "MB", "GiB", "GB", "KiB"]))
def test_a_size_keeps_its_unit(amount: int, unit: str) -> None:
    factor = {"K": 2**10, "M": 2**20, "G": 2**30}[unit[0]]
    assert size_bytes(f"{amount} {unit}") == size_bytes({"value": amount, "unit": unit}) == amount * factor


@pytest.mark.parametrize("name", names())
def test_every_fixture_says_where_it_comes_from(name: str) -> None:
    kind, _, why = origin(name).partition(": ")
    assert kind in ("captured", "synthetic")
    assert len(why) > 10
