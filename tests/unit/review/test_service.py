"""GPUs that a change takes out of service: for a while, or with the node; and whose approval counts for it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.unit.review.fleet import NOW, POLICIES, edit, fleet, new_version

from metalwright.model.review import Review
from metalwright.review.markdown import render_markdown
from metalwright.review.policies import said_of
from metalwright.reviewing import Circumstances, review_states

__all__ = ["fleet"]

RACK = "inventory/racks/a01.yaml"
HEAD = "0123456789ab"
POLICY = "bios-needs-hardware"


@pytest.fixture
def states(fleet: Path, tmp_path: Path) -> tuple[Path, Path]:
    shutil.copytree(fleet, tmp_path / "base")
    shutil.copytree(fleet, tmp_path / "head")
    return tmp_path / "base", tmp_path / "head"


def reviewed(states: tuple[Path, Path], *approvals: str) -> Review:
    return review_states(*states, ("base", HEAD), Circumstances(now=NOW, approved_by=approvals, may_remove=9))


def wanted(root: Path, node: str, state: str) -> None:
    edit(root, RACK, f"serial: G-{node[1:]},", f"serial: G-{node[1:]}, state: {state},")


def test_a_node_that_leaves_service_takes_its_gpus_with_it_and_one_that_did_not_serve_takes_none(
    states: tuple[Path, Path],
) -> None:
    for node in ("g10", "g11"):
        for root in states:
            wanted(root, node, "quarantined")
    edit(states[1], RACK, "state: quarantined,", "state: retired,")  # both again: they serve nobody already
    for node, state in (("g01", "quarantined"), ("g02", "retired"), ("g03", "spare"), ("g04", "held")):
        wanted(states[1], node, state)
    head = states[1] / RACK
    head.write_text("".join(line for line in head.read_text().splitlines(keepends=True) if "name: g05," not in line))
    review = reviewed(states)
    told = {node.node: (node.gpus_out, node.leaves) for node in review.nodes}
    assert told == {
        **dict.fromkeys(("g01", "g02", "g03", "g05"), (8, True)),
        **dict.fromkeys(("g04", "g10", "g11"), (0, False)),
    }
    assert (review.gpus_out_at_once, review.gpus_leaving) == (32, 32)
    assert "0 disks written; 32 GPUs leave service." in render_markdown(review)


def test_what_leaves_is_out_beside_those_that_are_worked_on_and_counts_for_the_policy(
    states: tuple[Path, Path],
) -> None:
    (states[0] / "inventory/policies.yaml").write_text(POLICIES.replace("gpus: 128", "gpus: 64"))
    new_version(states[1], "1.1.0", ("SysProfile: Performance", "SysProfile: Balanced"))
    wanted(states[1], "g01", "quarantined")
    review = reviewed(states)
    assert (review.gpus_out_at_once, review.gpus_leaving) == (8 * 8 + 8, 8), "eight nodes at once, and the one"
    assert "at most 72 GPUs out of service at once, 8 of them leave it" in render_markdown(review)
    assert {item.name: item.verdict for item in review.policies}["half-the-fleet"] == "fail"


def test_a_machine_with_another_name_leaves_service_where_the_new_name_is_wanted_retired(
    states: tuple[Path, Path],
) -> None:
    edit(states[1], RACK, "name: g05,", "name: old-5, state: retired,")
    review = reviewed(states)
    told = {node.node: (node.gpus_out, node.leaves) for node in review.nodes}
    assert told == {"old-5": (8, True), "g05": (0, False)}


@pytest.mark.parametrize(
    ("approvals", "verdict", "why"),
    [
        (("li",), "pass", "did: li"),
        ((f"li@{HEAD}{'c' * 28}",), "pass", "did: li"),
        ((f"li@{HEAD[:7]}",), "pass", "did: li"),
        ((f"li@{'9' * 40}",), "fail", "did: nobody; approved another commit than this head: li"),
        ((f"li@{'9' * 40}", f"amina@{HEAD}"), "pass", "did: amina; approved another commit than this head: li"),
        ((f"stranger@{'9' * 40}",), "fail", "did: nobody"),
        (("li@example.net",), "fail", "did: nobody"),
        (("li@null",), "fail", "did: nobody"),
    ],
)
def test_an_approval_of_another_commit_does_not_count(
    states: tuple[Path, Path], approvals: tuple[str, ...], verdict: str, why: str
) -> None:
    (states[0] / "inventory/policies.yaml").write_text(POLICIES)
    new_version(states[1], "1.1.0", ("SysProfile: Performance", "SysProfile: Balanced"), nodes=1)
    policies = {item.name: item for item in reviewed(states, *approvals).policies}
    assert (policies[POLICY].verdict, policies[POLICY].why.partition("; ")[2]) == (verdict, why)


def test_a_name_that_looks_like_an_address_is_a_name() -> None:
    said = said_of(HEAD, ("li@example.net", f"bo@example.net@{'9' * 40}"))
    assert said is not None
    assert (said.people, dict(said.elsewhere)) == (("li@example.net",), {"bo@example.net": "9" * 40})
    assert said_of(HEAD, None) is None


def test_a_version_that_no_lock_holds_is_refused_where_nodes_come_to_stand_on_it_or_it_changes(
    states: tuple[Path, Path],
) -> None:
    base, head = states
    new_version(head, "1.1.0", ("SysProfile: Performance", "SysProfile: Balanced"), nodes=7)
    lock = head / "blueprints/blueprints.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(keepends=True) if "gpu@1.1.0" not in line))
    (refusal,) = reviewed(states).refused
    assert (refusal.rule, refusal.file) == ("unreleased", "blueprints/gpu/1.1.0.yaml")
    assert "could change under g00, g01, g02, g03, g04 and 2 more after this review" in refusal.what
    assert refusal.hint == "metalwright blueprint release gpu@1.1.0"

    shutil.copytree(head, base, dirs_exist_ok=True)
    edit(head, RACK, "serial: G-12,", "serial: G-12-NEW,")
    assert reviewed(states).refused == (), "what stood there before is a warning of check"
    edit(head, "blueprints/gpu/1.1.0.yaml", "SysProfile: Balanced", "SysProfile: Custom")
    assert [item.rule for item in reviewed(states).refused] == ["unreleased"]
