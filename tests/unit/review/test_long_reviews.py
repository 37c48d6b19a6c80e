"""A review stays short where nodes differ only in what is their own, and fits into a comment whatever changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, edit, new_version, write_fleet

from metalwright.model.phase import Phase
from metalwright.model.review import FileChange, NodeImpact, Review
from metalwright.review.markdown import MOST_CHARACTERS, render_markdown
from metalwright.reviewing import review_states

AGAIN = (Phase.SOFTWARE, Phase.ACCEPT, Phase.READY)


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    write_fleet(tmp_path / "base")
    shutil.copytree(tmp_path / "base", tmp_path / "head")
    return tmp_path / "base", tmp_path / "head"


def test_a_renamed_rack_renames_the_label_on_its_nodes_in_one_block(states: tuple[Path, Path]) -> None:
    base, head = states
    (head / "inventory/racks/a01.yaml").rename(head / "inventory/racks/b01.yaml")
    edit(head, "inventory/racks/b01.yaml", "name: a01\n", "name: b01\n")
    review = review_states(base, head, ("base", "head"), GIVEN)
    assert {node.phases for node in review.nodes} == {AGAIN}
    labels = [file for file in review.files if file.path == "/etc/metalwright/labels"]
    assert [(file.nodes, file.written_by) for file in labels] == [(20, "software")]
    assert "+example.net/rack=b01" in labels[0].diff


def test_a_leaf_switch_with_another_name_is_applied_to_the_nodes_of_its_rack_alone(states: tuple[Path, Path]) -> None:
    base, head = states
    for root, name in ((base, "leaf-1"), (head, "leaf-7")):
        edit(root, "inventory/racks/a02.yaml", "cooling_kw", f"switches: [{{name: {name}, role: leaf}}]\ncooling_kw")
    review = review_states(base, head, ("base", "head"), GIVEN)
    assert {(node.rack, node.phases) for node in review.nodes} == {("a02", AGAIN)}


def test_two_classes_that_go_to_different_versions_are_two_blocks(states: tuple[Path, Path]) -> None:
    base, head = states
    new_version(head, "1.1.0", ("node_exporter: 1.5.0", "node_exporter: 1.6.0"))
    new_version(head, "1.1.0", ("node_exporter: 1.5.0", "node_exporter: 1.7.0"), name="box")
    for rack in ("a01", "a02"):
        edit(head, f"inventory/racks/{rack}.yaml", "box@1.0.0", "box@1.1.0")
    review = review_states(base, head, ("base", "head"), GIVEN)
    assert len([file for file in review.files if "1\\.7\\.0" in file.diff or "1.7.0" in file.diff]) == 1
    assert len([file for file in review.files if "1\\.6\\.0" in file.diff or "1.6.0" in file.diff]) == 1


def test_a_review_with_long_files_fits_and_says_how_many_it_leaves_out() -> None:
    files = tuple(
        FileChange(path=f"/etc/f{number}", written_by="software", node="a", nodes=1, diff="+" + "x" * 3000)
        for number in range(40)
    )
    text = render_markdown(Review(base="a", head="b", refused=(), files=files, unknown=("minutes",)))
    assert len(text) <= MOST_CHARACTERS
    left_out = int(text.partition(" more differences of")[0].split()[-1])
    assert text.count("<details>") == text.count("</details>") == 40 - left_out
    assert "- minutes" in text


def test_a_review_of_many_unlike_nodes_fits_and_says_that_it_is_cut() -> None:
    nodes = tuple(
        NodeImpact(
            node=f"n{number}", rack="r", blueprint="b@1.0.0", base="b@1.0.0", what=(f"identity: serial {number}",)
        )
        for number in range(3000)
    )
    text = render_markdown(Review(base="a", head="b", refused=(), nodes=nodes))
    assert len(text) <= MOST_CHARACTERS
    assert text.endswith("`metalwright review --json` has all of it.\n")
