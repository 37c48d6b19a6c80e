"""What a replaced part changes is read off the machine where it leaves one answer, and refused everywhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.matching.machines import BLUEPRINT, BMC_MAC, REPORT, UUID, node_with, report_with

from metalwright.matching import agreeing_keys
from metalwright.matching.replaced import ReplacedParts, owners_of, replaced_parts
from metalwright.model.rack import Node
from metalwright.model.report import BmcFacts, HardwareReport, NicPort

NEW_UUID = "11111111-bb99-4c27-4ab9-573fd3320e71"
NEW_MAC = "7c:c2:55:00:ff:01"
HOST = [{"mac": "7c:c2:55:00:00:01", "role": "host"}, {"mac": "7c:c2:55:00:00:02", "role": "host"}]


def asked(node: Node, report: HardwareReport, *others: Node) -> ReplacedParts:
    return replaced_parts(node, BLUEPRINT, report, owners_of([node, *others]))


def changes(found: ReplacedParts) -> dict[str, tuple[str, str]]:
    return {".".join(map(str, item.path)): (item.was, item.becomes) for item in found.replacements}


def with_board(**system: str | None) -> HardwareReport:
    return report_with(
        system=REPORT.system.model_copy(update={"uuid": NEW_UUID, **system}),
        bmc=BmcFacts(address="10.20.0.11", macs=(NEW_MAC,)),
    )


def test_a_machine_that_is_as_declared_has_no_replaced_part() -> None:
    assert asked(node_with(system_disk={"serial": "SYS1"}, ports=HOST), REPORT) == ReplacedParts()


def test_a_new_board_under_the_old_serial_changes_uuid_and_bmc_mac() -> None:
    found = asked(node_with(), with_board())
    assert changes(found) == {"uuid": (UUID, NEW_UUID), "bmc_mac": (BMC_MAC, NEW_MAC)}
    assert found.reasons == []


def test_a_machine_of_which_nothing_agrees_is_another_machine() -> None:
    found = asked(node_with(), with_board(serial="OTHER-77"))
    assert changes(found) == {}
    assert found.reasons == ["no declared identity key agrees: this is another machine, not a replaced board"]


KEYS = {"serial": ("E282584J5282879", "BOARD-2"), "uuid": (UUID, NEW_UUID), "bmc_mac": (BMC_MAC, NEW_MAC)}


@given(st.fixed_dictionaries(dict.fromkeys(KEYS, st.sampled_from(["same", "new", "not told"]))))
def test_what_is_accepted_agrees_in_two_keys_at_least_and_one_of_them_is_old(told: dict[str, str]) -> None:
    values = {key: None if told[key] == "not told" else KEYS[key][told[key] == "new"] for key in KEYS}
    report = report_with(
        system=REPORT.system.model_copy(update={"serial": values["serial"], "uuid": values["uuid"]}),
        bmc=BmcFacts(macs=(values["bmc_mac"],) if values["bmc_mac"] else ()),
    )
    found = asked(node_with(), report)
    accepted = changes(found)
    assert set(accepted) in (set(), {key for key in KEYS if told[key] == "new"})
    if accepted:
        after = node_with(**{key: new for key, (_, new) in accepted.items()})
        assert len(agreeing_keys(after, report)) >= 2
        assert "same" in told.values()
    elif "new" in told.values():
        assert found.reasons


def test_the_keys_of_another_node_mean_that_machines_were_swapped() -> None:
    other = node_with(name="other", serial="S-OTHER", uuid=NEW_UUID, bmc_mac="7c:c2:55:00:aa:01")
    found = asked(node_with(), with_board(), other)
    assert changes(found) == {}
    assert found.reasons == [f"uuid {NEW_UUID} is that of node other: were two machines swapped?"]


def test_several_new_values_of_one_key_are_left_to_the_sticker() -> None:
    report = report_with(bmc=BmcFacts(macs=(NEW_MAC, "7c:c2:55:00:ff:02")))
    found = asked(node_with(), report)
    assert changes(found) == {}
    assert "take the sticker's" in found.reasons[0]


def test_a_new_system_disk_in_the_place_of_the_named_one_is_accepted() -> None:
    assert changes(asked(node_with(system_disk={"serial": "GONE"}), REPORT)) == {"system_disk.serial": ("GONE", "SYS1")}


def test_two_drives_that_may_be_the_system_disk_are_not_chosen_between() -> None:
    drives = (*(REPORT.drives or ()), (REPORT.drives or ())[0].model_copy(update={"slot": "M.3", "serial": "SYS2"}))
    found = asked(node_with(system_disk={"serial": "GONE"}), report_with(drives=drives))
    assert changes(found) == {}
    assert "not exactly one drive" in found.reasons[0]


def test_the_ports_of_a_new_card_take_the_places_of_the_old_ones() -> None:
    old = [{"mac": f"7c:c2:55:00:99:0{number}", "role": "host"} for number in (1, 2)]
    assert changes(asked(node_with(ports=old), REPORT)) == {
        "ports.0.mac": ("7c:c2:55:00:99:01", "7c:c2:55:00:00:01"),
        "ports.1.mac": ("7c:c2:55:00:99:02", "7c:c2:55:00:00:02"),
    }


def test_more_unnamed_ports_than_missing_ones_are_not_chosen_between() -> None:
    found = asked(node_with(ports=[{"mac": "7c:c2:55:00:99:01", "role": "host"}]), REPORT)
    assert changes(found) == {}
    assert "7c:c2:55:00:00:01, 7c:c2:55:00:00:02" in found.reasons[0]


def test_a_port_that_another_node_declares_is_a_swapped_card() -> None:
    other = node_with(name="other", serial="S-2", uuid=NEW_UUID, bmc_mac=NEW_MAC, ports=[HOST[1]])
    node = node_with(ports=[HOST[0], {"mac": "7c:c2:55:00:99:02", "role": "host"}])
    found = asked(node, REPORT, other)
    assert changes(found) == {}
    assert "node other" in found.reasons[0]


@pytest.mark.parametrize("macs", [(None, "7c:c2:55:00:00:02"), ()], ids=["a port without a MAC", "no port"])
def test_ports_that_the_bmc_does_not_tell_prove_nothing(macs: tuple[str | None, ...]) -> None:
    *fabric, host = REPORT.nics or ()
    ports = tuple(NicPort(name=str(n), mac=mac, speed_gbps=10, link="ethernet") for n, mac in enumerate(macs))
    report = report_with(nics=(*fabric, host.model_copy(update={"ports": ports})))
    assert asked(node_with(ports=[{"mac": "7c:c2:55:00:99:01", "role": "host"}]), report) == ReplacedParts()
