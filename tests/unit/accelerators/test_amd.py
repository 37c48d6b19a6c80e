"""Both of AMD's tools are read into the same shape."""

from __future__ import annotations

import pytest
from tests.accelerators.texts import text

from metalwright.accelerators import amd_smi, rocm_smi
from metalwright.accelerators.gpu import Clocks, Gpu, MemoryErrors, Mode, PcieLink, Power


def test_rocm_smi_of_a_real_machine() -> None:
    reading = rocm_smi.parse(text("rocm-smi-mi100"))
    assert (reading.driver_version, reading.attached, reading.failure) == ("6.3.6", 2, None)
    assert reading.gpus[0] == Gpu(
        address="0000:83:00.0",
        name="Arcturus GL-XL [Instinct MI100]",
        pci_id="1002:738c",
        uuid="0x79ccd55167a2124a",
        vbios="113-D3431401-101",
        memory_bytes=34342961152,
        temperature_c=55.0,
        mig=Mode(is_absent=True),
        link=PcieLink(generation=4, lanes=16),
        power=Power(draw_w=36.0, cap_w=290.0),
        clocks=Clocks(compute_mhz=300.0, memory_mhz=1200.0),
    )
    assert reading.gpus[1].address == "0000:a3:00.0"


def test_rocm_smi_of_a_board_behind_a_warning() -> None:
    reading = rocm_smi.parse(text("rocm-smi-mi300x"))
    assert len(reading.gpus) == 8
    first = reading.gpus[0]
    assert (first.name, first.architecture, first.serial) == ("AMD Instinct MI300X", "gfx942", "692400000000")
    assert (first.partition, first.power.cap_w, first.link.generation) == ("SPX", 750.0, 5)


def test_ten_cards_are_in_the_order_of_their_numbers() -> None:
    cards = ", ".join(f'"card{i}": {{"Unique ID": "u{i}"}}' for i in reversed(range(11)))
    assert [gpu.uuid for gpu in rocm_smi.parse(f"{{{cards}}}").gpus] == [f"u{i}" for i in range(11)]


def test_amd_smi_joins_what_is_fixed_and_what_changes() -> None:
    reading = amd_smi.parse(text("amd-smi-static-mi300x"), text("amd-smi-metric-mi300x"))
    assert (reading.driver_version, reading.attached) == ("6.12.12", 2)
    assert reading.gpus[0] == Gpu(
        address="0000:05:00.0",
        name="AMD Instinct MI300X",
        architecture="gfx942",
        pci_id="1002:74a1",
        serial="692401000001",
        uuid="0x0123456789ABCDEF",
        vbios="022.040.003.041.000001",
        memory_bytes=196592 * 2**20,
        temperature_c=35.0,
        ecc=Mode(current=True),
        mig=Mode(is_absent=True),
        partition="SPX",
        link=PcieLink(generation=5, generation_max=5, lanes=16, lanes_max=16),
        errors=MemoryErrors(corrected=2, uncorrected=0),
        power=Power(draw_w=133.0, cap_w=750.0, cap_min_w=0.0, cap_max_w=750.0),
        clocks=Clocks(compute_mhz=131.0, compute_max_mhz=2100.0, memory_mhz=900.0, memory_max_mhz=1300.0),
    )
    assert reading.gpus[1] == Gpu(mig=Mode(is_absent=True))


@pytest.mark.parametrize("parse", [rocm_smi.parse, amd_smi.parse])
@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (text("rocm-smi-no-driver"), "no-driver"),
        ("", "no-answer"),
        ('{"card0": {"Device ID"', "unreadable"),
        ("[]", "unreadable"),
        ("open: permission denied", "no-permission"),
    ],
)
def test_text_that_is_no_reading_is_a_failure(parse: object, said: str, kind: str) -> None:
    reading = parse(said)  # type: ignore[operator]  # one of the two functions above
    assert (reading.failure.kind, reading.gpus) == (kind, ())
