"""Which BMCs a fleet has: addresses of a prefix, kinds by number, faults by address, kind and number."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import LabError
from metalwright.simulator.fleet.plan import FaultGroup, place, read_faults
from metalwright.simulator.fleet.tree import Identity, make_tree, read_captures

A, B = make_tree("a", {"/redfish/v1": {}}), make_tree("b", {"/redfish/v1": {}})


def test_kinds_with_a_number_get_it_and_the_others_share_the_rest() -> None:
    kinds = [tree.name for _, tree in place("127.0.0.0/24", [(A, 3), (B, 0)], 5)]
    assert sorted(kinds) == ["a", "a", "a", "b", "b"]
    assert len(place("127.0.0.0/24", [(A, 0), (B, 0)], 7)) == 7
    assert len(place("127.0.0.0/24", [(A, 2)], 5)) == 5


def test_addresses_and_identities_are_distinct() -> None:
    placed = [identity for identity, _ in place("127.91.0.0/22", [(A, 0)], 1000)]
    for values in (
        {identity.address for identity in placed},
        {identity.serial for identity in placed},
        {identity.uuid() for identity in placed},
        {identity.mac(offset) for identity in placed for offset in (0, 63)},
    ):
        assert len(values) in (1000, 2000)


@pytest.mark.parametrize(
    ("prefix", "count", "message"),
    [("127.0.0.0/30", 3, "too many"), ("10.0.0.0/24", 1, "loopback"), ("here", 1, "no prefix")],
)
def test_a_prefix_that_does_not_do_is_refused(prefix: str, count: int, message: str) -> None:
    with pytest.raises(LabError, match=message):
        place(prefix, [(A, 0)], count)


def test_tokens_become_the_identity_of_one_bmc() -> None:
    identity = Identity(7, "127.0.0.7", "SN", "aa:bb:cc")
    text = "{{serial}} {{code}} {{mac+1}} {{MAC+1}} {{guid+1}} {{address}}"
    assert identity.fill(text) == ("SN000007 000007 aa:bb:cc:00:01:c1 AA:BB:CC:00:01:C1 0C42:AABB:CC00:01C1 127.0.0.7")
    assert identity.fill("{{uuid}}") != identity.fill("{{uuid+1}}")


@pytest.mark.parametrize(
    ("word", "numbers"),
    [
        ("all", [1, 2, 3]),
        ("a", [1, 2, 3]),
        ("b", []),
        (2, [2]),
        ("2-3", [2, 3]),
        ("127.0.0.3", [3]),
        ("127.0.0.2/31", [2, 3]),
    ],
)
def test_fault_groups_mean_bmcs_by_address_kind_and_number(word: str | int, numbers: list[int]) -> None:
    group = FaultGroup.model_validate({"bmcs": [word], "faults": [{"name": "unreachable"}]})
    assert [n for n in (1, 2, 3) if group.fits(Identity(n, f"127.0.0.{n}"), "a")] == numbers


def test_a_wrong_fault_file_is_refused_by_place(tmp_path: Path) -> None:
    file = tmp_path / "faults.yaml"
    file.write_text("- bmcs: [all]\n  faults: [{name: rule, do: {colour: blue}}]\n")
    with pytest.raises(LabError, match=r"faults\.yaml: 0\.faults\.0\.do\.colour"):
        read_faults(file)
    for fault in ("{name: rule, do: {}}", "{name: rule, path: Bios$}", "{name: unreachable, do: {status: 503}}"):
        file.write_text(f"- bmcs: [all]\n  faults: [{fault}]\n")
        with pytest.raises(LabError, match=r"0\.faults\.0") as caught:
            read_faults(file)
        assert "say what happens" in str(caught.value)
    file.write_text("- {bmcs: [all], faults: [{name: rule, path: Bios$, do: {status: 503}}]}\n")
    assert read_faults(file)[0].faults[0].do.status == 503


def test_a_folder_without_captures_and_a_file_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no capture here"):
        read_captures(tmp_path)
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(LabError, match=r"x\.json: this is no capture"):
        read_captures(tmp_path)
    (tmp_path / "x.json").write_text('{"/redfish/v1": {}, "nonsense": 5}')
    with pytest.raises(LabError, match=r"x\.json: 'nonsense'"):
        read_captures(tmp_path)
