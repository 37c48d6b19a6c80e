from __future__ import annotations

import uuid

import pytest
from tests.unit.matching.machines import BMC_MAC, NODE, REPORT, UUID, node_with, report_with

from metalwright.matching import claim, identity_matches
from metalwright.model.report import BmcFacts, ChassisFacts, HardwareReport

SWAPPED = str(uuid.UUID(bytes_le=uuid.UUID(UUID).bytes))


def system(**changes: str | None) -> HardwareReport:
    return report_with(system=REPORT.system.model_copy(update=changes))


def codes(report: HardwareReport) -> dict[str, str]:
    return {finding.code: finding.verdict for finding in identity_matches(NODE, report)}


def test_the_declared_keys_agree() -> None:
    assert identity_matches(NODE, REPORT) == []


def test_in_18_uuids_agree_in_both_byte_orders() -> None:
    assert codes(system(uuid=SWAPPED)) == {}
    assert codes(system(uuid=str(uuid.uuid4()))) == {"identity-uuid": "FAIL"}


def test_what_the_bmc_does_not_tell_is_deferred_never_agreement() -> None:
    assert codes(system(uuid=None)) == {"identity-uuid": "DEFERRED"}
    assert codes(report_with(bmc=BmcFacts())) == {"identity-bmc_mac": "DEFERRED"}


def test_another_serial_says_both_values_and_who_said_so() -> None:
    (finding,) = identity_matches(NODE, system(serial="OTHER1"))
    assert (finding.verdict, finding.expected, finding.found) == ("FAIL", "E282584J5282879", "OTHER1")
    assert finding.source == "BMC 10.20.0.11, system 1"


def test_in_15_only_declared_keys_count() -> None:
    """The rack file says which keys must agree; a serial that differs by design elsewhere is no contradiction."""
    node = node_with(serial="OTHER1", identity=("uuid", "bmc_mac"))
    assert identity_matches(node, REPORT) == []
    (finding,) = identity_matches(node_with(serial="OTHER1"), REPORT)
    assert (finding.code, finding.expected, finding.found) == ("identity-serial", "OTHER1", "E282584J5282879")


def test_a_service_tag_and_a_chassis_sticker_are_serials() -> None:
    node = node_with(serial="F20N8I5")
    assert identity_matches(node, system(manufacturer="Dell Inc.", serial="BOARD1", sku="F20N8I5")) == []
    assert identity_matches(node, report_with(chassis=ChassisFacts(serial="F20N8I5"))) == []
    assert [item.verdict for item in identity_matches(node, system(manufacturer="HPE", sku="F20N8I5"))] == ["FAIL"]


def test_in_10_a_machine_without_serial_is_claimed_by_what_it_gives() -> None:
    claims = claim([NODE], [system(serial=None)])
    (found,) = claims.claimed
    assert found.keys == ("uuid", "bmc_mac")
    assert [finding.code for finding in found.findings] == ["identity-serial"]


def test_a_key_that_contradicts_beside_one_that_agrees_is_a_conflict() -> None:
    claims = claim([NODE], [system(serial="OTHER1")])
    assert (claims.claimed, claims.missing) == ((), ())
    assert claims.conflicts[0].findings[0].code == "identity-serial"


def test_strangers_are_unclaimed_and_absentees_missing() -> None:
    stranger = report_with(system=REPORT.system.model_copy(update={"serial": "S2", "uuid": None}), bmc=BmcFacts())
    claims = claim([NODE], [stranger])
    assert (claims.unclaimed, claims.missing) == ((stranger,), (NODE,))
    assert claim([node_with(state="retired")], []).missing == ()


def test_two_machines_that_look_like_one_node_get_nothing() -> None:
    """Two hosts on one BMC share serial and MAC (two-node blades): nobody may guess which is which."""
    twin = report_with(system=REPORT.system.model_copy(update={"id": "2"}))
    claims = claim([NODE], [REPORT, twin])
    assert claims.claimed == ()
    assert {item.why for item in claims.conflicts} == {"only values that several machines show agree"}


def test_one_bmc_at_two_addresses_is_one_machine() -> None:
    again = report_with(bmc=REPORT.bmc.model_copy(update={"address": "10.20.0.99"}))
    assert len(claim([NODE], [REPORT, again]).claimed) == 1


def test_a_machine_that_fits_two_nodes_is_nobodys() -> None:
    other = node_with(name="gpu-a01-u09")
    (conflict,) = claim([NODE, other], [REPORT]).conflicts
    assert {node.name for node in conflict.nodes} == {"gpu-a01-u07", "gpu-a01-u09"}


@pytest.mark.parametrize("mac", [BMC_MAC, BMC_MAC.upper(), BMC_MAC.replace(":", "-")])
def test_di_04_macs_agree_in_every_spelling(mac: str) -> None:
    assert identity_matches(node_with(bmc_mac=mac), REPORT) == []
