"""A network that changes: which nodes it touches, and what they keep until somebody provisions them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, TODAY, edit, write_fleet

from metalwright.allocations import allocate_addresses
from metalwright.loading import load_site, release
from metalwright.model.review import Review
from metalwright.planning import network_inputs
from metalwright.review.markdown import render_markdown
from metalwright.reviewing import review_states

WORKLOAD = "  - {name: work, purpose: workload, vlan: 40, prefix: 10.2.0.0/24, reserved: [10.2.0.1-10.2.0.9]}\n"


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    """The GPU nodes are on a workload network, the boxes are not."""
    base = tmp_path / "base"
    write_fleet(base)
    networks = base / "inventory/networks.yaml"
    networks.write_text(networks.read_text() + WORKLOAD)
    edit(base, "blueprints/gpu/1.0.0.yaml", "networks: [host-management]", "networks: [host-management, workload]")
    release(base, ["gpu@1.0.0"], replace=True)
    allocate_addresses(base, TODAY)
    shutil.copytree(base, tmp_path / "head")
    return base, tmp_path / "head"


def reviewed(states: tuple[Path, Path]) -> Review:
    return review_states(*states, ("base", "head"), GIVEN)


def test_a_vlan_touches_the_nodes_on_it_alone_and_the_first_lines_say_that_they_keep_the_old_one(
    states: tuple[Path, Path],
) -> None:
    edit(states[1], "inventory/networks.yaml", "vlan: 40", "vlan: 41")
    review = reviewed(states)
    assert {(node.blueprint, node.networks) for node in review.nodes} == {("gpu@1.0.0", ("work",))}
    assert [(item.what, item.nodes) for item in review.site] == [("work: VLAN", 38)]
    head = render_markdown(review).partition("### ")[0]
    assert (
        "**Network work changes** (VLAN `40` → `41`): until provisioned again, the old values stay on 38 nodes" in head
    )
    files = [(file.path, file.written_by) for file in review.files]
    assert files, "the netdev of the VLAN"
    assert {written_by for _, written_by in files} == {"software"}, "running nodes get it without a rebuild"


def test_a_vlan_that_no_file_of_a_node_holds_cuts_nobody_off_by_itself(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/networks.yaml", "vlan: 20", "vlan: 21")
    head = render_markdown(reviewed(states)).partition("### ")[0]
    assert "**Network oob changes** (VLAN `20` → `21`): no file of a node holds them; switches, routers" in head
    assert "cuts them off" not in head


def test_what_only_the_allocator_goes_by_touches_no_node(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/networks.yaml", "10.2.0.1-10.2.0.9", "10.2.0.1-10.2.0.8")
    review = reviewed(states)
    assert (review.nodes, [(item.what, item.nodes) for item in review.site]) == ((), [("work: reserved", 0)])


def test_a_power_shelf_of_a_rack_changes_no_node(states: tuple[Path, Path]) -> None:
    rack = states[1] / "inventory/racks/a01.yaml"
    shelf = "{name: shelf-1, kind: power-shelf, serial: S-1, bmc_mac: 00:18:23:00:00:01}"
    rack.write_text(f"{rack.read_text()}equipment: [{shelf}]\n")
    review = reviewed(states)
    assert review.nodes == ()
    changes = {item.what: (item.to, item.nodes) for item in review.site}
    assert changes["a01: equipment shelf-1, serial"] == ("S-1", 0)
    assert {nodes for _, nodes in changes.values()} == {0}


def test_an_address_that_moves_stays_on_the_node_until_it_is_provisioned(states: tuple[Path, Path]) -> None:
    head = states[1]
    edit(head, "inventory/racks/a01.yaml", "name: g03,", "name: g03, addresses: {workload: 10.2.0.200},")
    allocate_addresses(head, TODAY)
    review = reviewed(states)
    assert [node.node for node in review.nodes] == ["g03"]
    assert "until provisioned again, the old ones stay on `g03`." in render_markdown(review).partition("### ")[0]


def test_a_recipe_takes_the_networks_that_the_node_is_on(states: tuple[Path, Path]) -> None:
    repository = load_site(states[0])
    joined = {name: set(network_inputs(repository, repository.node(name))) for name in ("g00", "box-a01")}
    assert joined == {"g00": {"oob", "hosts", "work"}, "box-a01": {"oob", "hosts"}}
