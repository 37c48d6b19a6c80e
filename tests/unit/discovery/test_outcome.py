from __future__ import annotations

from datetime import UTC, datetime

from ruamel.yaml import YAML
from tests.unit.matching.machines import BLUEPRINT, NODE, REPORT, report_with

from metalwright.errors import BmcCertificateError
from metalwright.model.report import BmcFacts, HardwareReport
from metalwright.redfish import MemoryPins
from metalwright.redfish.discovery import Sighting, Target, conclude, fitting_blueprints, rack_yaml, record
from metalwright.redfish.places import Place

WHEN = datetime(2026, 11, 30, tzinfo=UTC)
FINGERPRINT = "ab" * 32


class Book:
    """Remembers what was recorded."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, int, datetime]] = []

    def record(self, node: str, address: str, port: int, when: datetime) -> None:
        self.entries.append((node, address, port, when))


class StrictPins(MemoryPins):
    """Refuses a second certificate, as the journal does."""

    def record(self, key: str, fingerprint: str) -> None:

        known = self.get(key)
        if known not in (None, fingerprint):
            raise BmcCertificateError("another certificate", where=key, expected=known, found=fingerprint)
        super().record(key, fingerprint)


def sighting(*reports: HardwareReport) -> Sighting:
    target = Target(Place("10.20.0.11", 8443))
    return Sighting(target, "identified", reports=reports, fingerprint=FINGERPRINT, is_first_use=True)


def test_a_claimed_bmc_is_pinned_and_its_address_recorded() -> None:
    (claimed,) = conclude([NODE], {}, [sighting(REPORT)]).claimed
    pins, book = StrictPins(), Book()
    assert record(claimed, pins, book, WHEN).is_first_pin is True
    assert pins.get(NODE.name) == FINGERPRINT
    assert book.entries == [(NODE.name, "10.20.0.11", 8443, WHEN)]
    assert record(claimed, pins, book, WHEN).is_first_pin is False


def test_a_certificate_that_changed_is_an_error_and_nothing_is_recorded() -> None:
    (claimed,) = conclude([NODE], {}, [sighting(REPORT)]).claimed
    pins, book = StrictPins({NODE.name: "cd" * 32}), Book()
    found = record(claimed, pins, book, WHEN)
    assert found.error is not None
    assert "cd" * 32 in found.error
    assert FINGERPRINT in found.error
    assert book.entries == []


def test_the_text_for_the_rack_file_is_yaml_with_the_fitting_blueprint() -> None:
    older = BLUEPRINT.model_copy(update={"version": "0.9.0"})
    newest = BLUEPRINT.model_copy(update={"version": "0.10.0"})
    blueprints = {item.ref: item for item in (newest, older)}
    (entry,) = YAML(typ="safe").load(rack_yaml(REPORT, blueprints))
    assert entry["blueprint"] == "gpu-h100-8x@0.10.0"
    assert (entry["serial"], entry["uuid"], entry["bmc_mac"]) == (NODE.serial, NODE.uuid, NODE.bmc_mac)


def test_an_unknown_class_and_too_few_keys_are_said_in_the_text() -> None:
    system = REPORT.system.model_copy(update={"model": "SYS-111", "serial": "0000000000", "uuid": None})
    text = rack_yaml(report_with(system=system, bmc=BmcFacts(macs=None)), {BLUEPRINT.ref: BLUEPRINT})
    assert "no blueprint names Supermicro SYS-111" in text
    assert "two identity keys are needed" in text
    assert "serial" not in YAML(typ="safe").load(text)[0]


def test_a_blueprint_fits_by_maker_and_model() -> None:
    assert fitting_blueprints(REPORT, {BLUEPRINT.ref: BLUEPRINT}) == ["gpu-h100-8x@1.0.0"]


def test_a_bmc_without_host_claims_nothing_and_is_no_failure() -> None:
    found = conclude([NODE], {}, [Sighting(Target(Place("10.20.0.12", 443)), "no-host")])
    assert (found.claimed, found.failures) == ((), ())
    assert found.missing == (NODE,)
