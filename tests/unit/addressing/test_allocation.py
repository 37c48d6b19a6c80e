"""The allocator: nobody moves, nothing is given twice, and what is refused says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import netaddr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metalwright.addressing import Allocated, allocate
from metalwright.errors import AddressError
from metalwright.model.addresses import AddressLock
from metalwright.model.blueprint import Blueprint
from metalwright.model.network import Network
from metalwright.model.rack import Rack

TODAY = date(2026, 11, 30)
BLUEPRINT = Blueprint.model_validate(
    {
        "schema": 1,
        "name": "b",
        "version": "1.0.0",
        "class": {"role": "r", "owner": "o"},
        "hardware": {
            "system": {"manufacturer": "m", "models": ["x"]},
            "cpus": {"count": 1},
            "memory": {"total_gib": 1},
            "nics": [{"role": "host", "count": 1}],
            "drives": [{"role": "system", "count": 1, "min_bytes": 1}],
        },
        "network": [{"role": "host", "networks": ["host-management", "storage"]}],
        "image": {"name": "i", "version": "1", "file_sha256": "0" * 64},
        "acceptance": [{"test": "cpu-hash", "floor": 1}],
    }
)
BLUEPRINTS = {BLUEPRINT.ref: BLUEPRINT}


def network(purpose: str, prefix: str, **more: Any) -> Network:
    return Network.model_validate({"name": purpose[:3], "purpose": purpose, "prefix": prefix, **more})


def networks(oob: str = "10.0.0.0/24", **more: Any) -> tuple[Network, ...]:
    return (
        network("oob-management", oob, **more),
        network("host-management", "10.1.0.0/24"),
        network("storage", "10.2.0.0/24"),
    )


def rack(name: str, *nodes: str | dict[str, Any]) -> Rack:
    entries = [{"name": node} if isinstance(node, str) else node for node in nodes]
    identity = {"serial": "S1", "uuid": "8953ba36-0857-4bca-a1f4-0a3ebf77ab8d", "blueprint": "b@1.0.0"}
    return Rack.model_validate(
        {"schema": 1, "name": name, "site": "s", "nodes": [{**identity, **entry} for entry in entries]}
    )


def run(
    racks: Sequence[Rack], lock: AddressLock | None = None, today: date = TODAY, nets: tuple[Network, ...] | None = None
) -> Allocated:
    return allocate(nets or networks(), racks, BLUEPRINTS, lock or AddressLock(), today)


def test_a_node_gets_an_address_for_its_bmc_its_host_and_each_purpose_of_its_blueprint() -> None:
    lock = run([rack("r1", "a")]).lock
    assert lock.of_node("a") == {"oob": "10.0.0.1", "hos": "10.1.0.1", "sto": "10.2.0.1"}


def test_a_second_run_changes_nothing_and_notes_nothing() -> None:
    first = run([rack("r1", "a", "b")])
    again = run([rack("r1", "a", "b")], first.lock, TODAY + timedelta(days=400))
    assert again == Allocated(first.lock, ())


def test_gateway_reserved_network_and_broadcast_are_never_given() -> None:
    nets = networks("192.0.2.0/29", gateway="192.0.2.1", reserved=["192.0.2.2-192.0.2.3"])
    given_addresses = [run([rack("r", "a", "b", "c")], nets=nets).lock.of_node(node)["oob"] for node in "abc"]
    assert given_addresses == ["192.0.2.4", "192.0.2.5", "192.0.2.6"]


def test_a_full_prefix_says_how_many_are_needed() -> None:
    nets = networks("192.0.2.0/29", gateway="192.0.2.1")
    with pytest.raises(AddressError, match=r"oob \(192.0.2.0/29\): 7 more addresses are needed, 5 are free"):
        run([rack("r", *"abcdefg")], nets=nets)


def test_a_slash_29_gives_six_addresses_and_ipv6_gives_the_last_one() -> None:
    nets = networks("192.0.2.0/29", prefix_v6="2001:db8::/125")
    lock = run([rack("r", *"abcdef")], nets=nets).lock
    assert {lock.of_node(node)["oob"] for node in "abcdef"} == {f"192.0.2.{n}" for n in range(1, 7)}
    assert {lock.of_node_v6(node)["oob"] for node in "abcdef"} == {f"2001:db8::{n}" for n in range(1, 7)}


def test_a_pool_gives_its_first_and_last_address_too() -> None:
    nets = networks("192.0.2.0/29", pool=True)
    lock = run([rack("r", *"abcdefgh")], nets=nets).lock
    assert {lock.of_node(node)["oob"] for node in "abcdefgh"} == {f"192.0.2.{n}" for n in range(8)}


def test_an_address_that_answers_is_not_given_away_and_is_told() -> None:
    allocated = allocate(
        networks(), [rack("r", "a")], BLUEPRINTS, AddressLock(), TODAY, answering=frozenset({"10.0.0.1"})
    )
    assert allocated.lock.of_node("a")["oob"] == "10.0.0.2"
    assert allocated.notes == ("10.0.0.1 answers although no node has it; it is not given away",)


def test_nodes_get_addresses_from_the_slice_of_their_rack_and_others_keep_out_of_it() -> None:
    nets = networks(per_rack=[{"rack": "r2", "prefix": "10.0.0.0/28"}])
    lock = run([rack("r1", "a"), rack("r2", "b", "c")], nets=nets).lock
    assert [lock.of_node(node)["oob"] for node in "abc"] == ["10.0.0.16", "10.0.0.1", "10.0.0.2"]


def test_a_freed_address_is_not_given_to_another_node_in_its_quarantine() -> None:
    first = run([rack("r", "a", "b")]).lock
    second = run([rack("r", "b", "c")], first)
    assert second.lock.of_node("c")["oob"] == "10.0.0.3"
    assert second.notes[0] == "10.0.0.1 of a on oob is free from today"
    third = run([rack("r", "b", "c", "d")], second.lock, TODAY + timedelta(days=30))
    assert third.lock.of_node("d")["oob"] == "10.0.0.1"


def test_the_same_node_gets_its_former_address_back() -> None:
    first = run([rack("r", "a", "b")]).lock
    gone = run([rack("r", "b")], first).lock
    back = run([rack("r", "b", "a")], gone, TODAY + timedelta(days=1))
    assert back.lock == first


def test_a_used_up_pool_gives_the_address_that_is_free_for_longest_and_says_so() -> None:
    nets = networks("192.0.2.0/30")
    first = run([rack("r", "a", "b")], nets=nets).lock
    second = run([rack("r", "b")], first, nets=nets).lock
    third = run([rack("r", "b", "c")], second, TODAY + timedelta(days=2), nets=nets)
    assert third.lock.of_node("c")["oob"] == "192.0.2.1"
    assert "before its 30 days are over" in third.notes[0]


def test_a_retired_node_frees_its_addresses() -> None:
    first = run([rack("r", "a")]).lock
    second = run([rack("r", {"name": "a", "state": "retired"})], first).lock
    assert second.of_node("a") == {}
    assert {item.freed for item in second.allocations} == {TODAY}


def test_a_pin_is_given_even_from_a_reserved_range() -> None:
    nets = networks(reserved=["10.0.0.1-10.0.0.99"])
    lock = run([rack("r", {"name": "a", "addresses": {"oob-management": "10.0.0.7"}}, "b")], nets=nets).lock
    assert (lock.of_node("a")["oob"], lock.of_node("b")["oob"]) == ("10.0.0.7", "10.0.0.100")


def test_a_new_pin_moves_its_node_and_says_so() -> None:
    first = run([rack("r", "a", "b")]).lock
    pinned = run([rack("r", {"name": "a", "addresses": {"oob-management": "10.0.0.9"}}, "b")], first)
    assert pinned.lock.of_node("a")["oob"] == "10.0.0.9"
    assert pinned.lock.of_node("b") == first.of_node("b")
    assert pinned.notes == ("a moves from 10.0.0.1 to its pinned address 10.0.0.9",)


@pytest.mark.parametrize("pin", ["10.9.9.9", "10.0.0.1", "10.0.0.0", "10.0.0.255"])
def test_a_pin_that_is_no_host_address_or_the_gateway_is_refused(pin: str) -> None:
    with pytest.raises(AddressError, match="pins"):
        run([rack("r", {"name": "a", "addresses": {"oob-management": pin}})], nets=networks(gateway="10.0.0.1"))


def test_one_address_pinned_for_two_nodes_is_refused() -> None:
    pin = {"oob-management": "10.0.0.7"}
    with pytest.raises(AddressError, match="pinned for b, but belongs to a"):
        run([rack("r", {"name": "a", "addresses": pin}, {"name": "b", "addresses": pin})])


def test_an_address_that_became_reserved_is_never_renumbered_silently() -> None:
    first = run([rack("r", "a")]).lock
    with pytest.raises(AddressError, match=r"a has 10.0.0.1 on oob, which the network no longer allows"):
        run([rack("r", "a")], first, nets=networks(reserved=["10.0.0.1"]))


def test_a_renamed_network_keeps_its_addresses() -> None:
    first = run([rack("r", "a", "b")]).lock
    renamed = (networks()[0].model_copy(update={"name": "bmcs"}), *networks()[1:])
    second = run([rack("r", "a", "b")], first, nets=renamed)
    assert [second.lock.of_node(node)["bmcs"] for node in "ab"] == ["10.0.0.1", "10.0.0.2"]


def test_a_purpose_without_network_is_refused() -> None:
    with pytest.raises(AddressError, match="no network has the purpose storage"):
        run([rack("r", "a")], nets=networks()[:2])


NAMES = st.lists(st.sampled_from([f"n{i}" for i in range(12)]), unique=True, max_size=12)


@settings(max_examples=60, deadline=None)
@given(fleets=st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=5), reorder=st.randoms())
def test_nobody_moves_and_nothing_is_given_twice_whatever_comes_and_goes(
    fleets: list[tuple[list[str], list[str]]], reorder: Any
) -> None:
    nets = networks(
        gateway="10.0.0.1", reserved=["10.0.0.5-10.0.0.6"], per_rack=[{"rack": "r1", "prefix": "10.0.0.0/27"}]
    )
    lock = AddressLock()
    for step, (left, right) in enumerate(fleets):
        right = [name for name in right if name not in left]
        before = {node: lock.of_node(node) for node in (*left, *right)}
        racks = [rack("r1", *left), rack("r2", *right)]
        shuffled = [rack("r2", *reorder.sample(right, len(right))), rack("r1", *reorder.sample(left, len(left)))]
        lock, again = (
            allocate(nets, fleet, BLUEPRINTS, lock, TODAY + timedelta(days=step)).lock for fleet in (racks, shuffled)
        )
        assert lock == again
        live = [item for item in lock.allocations if item.freed is None]
        assert len({item.address for item in lock.allocations}) == len(lock.allocations)
        assert len(live) == 3 * len(before)
        assert all(before[node].items() <= lock.of_node(node).items() for node in before)
        taken = {netaddr.IPAddress(item.address) for item in live if item.network == "oob"}
        assert not taken & {netaddr.IPAddress(f"10.0.0.{n}") for n in (0, 1, 5, 6, 255)}
