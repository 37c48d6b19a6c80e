"""Versions of blueprints: copies that keep every comment, numbers that say what changed, records that stay."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, NOW, POLICIES, edit, new_version, write_fleet

from metalwright.errors import LoadingError, UsageError
from metalwright.loading import load_site, read_blueprint_lock
from metalwright.model.blueprint import Blueprint
from metalwright.releasing import bump, new_class, release_versions, retire_version
from metalwright.review.differences import moved_part, next_version
from metalwright.review.markdown import render_markdown
from metalwright.review.rules import RULES, rule_of
from metalwright.reviewing import Circumstances, review_states


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write_fleet(tmp_path / "site")
    return tmp_path / "site"


def test_every_section_of_a_blueprint_has_a_rule_and_every_rule_a_section() -> None:
    sections = {info.alias or name for name, info in Blueprint.model_fields.items()}
    ruled = {rule.path[0] for rule in RULES}
    assert sections - {"schema", "name", "version"} == ruled
    assert all(rule_of(rule.path) is rule for rule in RULES)


def test_a_bump_keeps_the_text_and_says_what_it_rolls_back_to(site: Path) -> None:
    source = site / "blueprints/gpu/1.0.0.yaml"
    path = bump(site, "gpu", "minor")
    wanted = source.read_text().replace("version: 1.0.0", "version: 1.1.0", 1)
    assert path.read_text() == wanted.replace("rollback: {data_loss", "rollback: {previous: 1.0.0, data_loss")
    again = bump(site, "gpu", "patch")
    assert (again.name, "previous: 1.1.0," in again.read_text()) == ("1.1.1.yaml", True)
    with pytest.raises(LoadingError, match="exists already"):
        bump(site, "gpu@1.0.0", "minor")


@pytest.mark.parametrize("block", ["rollback:\n  data_loss: all\n  minutes: 5\n", "rollback:\n  previous: 0.9.0\n", ""])
def test_a_bump_understands_every_way_to_write_the_roll_back(site: Path, block: str) -> None:
    path = site / "blueprints/gpu/2.0.0.yaml"
    text = (site / "blueprints/gpu/1.0.0.yaml").read_text().replace("version: 1.0.0", "version: 2.0.0", 1)
    path.write_text(text.partition("rollback:")[0] + block)
    bump(site, "gpu", "patch")
    (site / "blueprints/gpu/0.9.0.yaml").write_text(text.replace("version: 2.0.0", "version: 0.9.0"))
    assert load_site(site).blueprints["gpu@2.0.1"].rollback.previous == "2.0.0"


def test_a_new_class_is_a_copy_under_its_own_name(site: Path) -> None:
    path = new_class(site, "storage", "gpu")
    assert load_site(site).blueprints["storage@1.0.0"].ref == "storage@1.0.0"
    assert path == site / "blueprints/storage/1.0.0.yaml"
    with pytest.raises(UsageError, match="such a class already"):
        new_class(site, "storage", "box")


@pytest.mark.parametrize(
    ("version", "old", "new", "is_right"),
    [
        ("1.0.1", "1.5.0", "1.5.1", True),
        ("1.0.1", "1.6.20", "1.7.0", False),
        ("1.0.1", "Performance", "Balanced", False),
        ("1.1.0", "Performance", "Balanced", True),
        ("1.1.0", "count: 8, vendor", "count: 4, vendor", False),
        ("2.0.0", "count: 8, vendor", "count: 4, vendor", True),
        ("1.1.0", "floor: 20", "floor: 10", False),
        ("1.1.0", "floor: 20", "floor: 30", True),
    ],
)
def test_a_number_has_to_say_what_changed(site: Path, version: str, old: str, new: str, is_right: bool) -> None:
    text = (site / "blueprints/gpu/1.0.0.yaml").read_text().replace("version: 1.0.0", f"version: {version}", 1)
    (site / f"blueprints/gpu/{version}.yaml").write_text(text.replace(old, new, 1))
    if is_right:
        assert f"gpu@{version}" in release_versions(site, [f"gpu@{version}"])
    else:
        with pytest.raises(LoadingError, match="asks for a"):
            release_versions(site, [f"gpu@{version}"])


def test_a_version_in_use_stays_and_a_retired_number_is_never_used_again(site: Path) -> None:
    with pytest.raises(LoadingError, match="still in use"):
        retire_version(site, "gpu@1.0.0")
    new_version(site, "1.0.1", ("1.5.0", "1.5.1"))
    retire_version(site, "gpu@1.0.0")
    assert not (site / "blueprints/gpu/1.0.0.yaml").exists()
    assert "gpu@1.0.0" not in read_blueprint_lock(site)
    load_site(site)
    (site / "blueprints/gpu/1.0.0.yaml").write_text((site / "blueprints/gpu/1.0.1.yaml").read_text())
    edit(site, "blueprints/gpu/1.0.0.yaml", "version: 1.0.1", "version: 1.0.0")
    with pytest.raises(LoadingError, match="was retired"):
        release_versions(site, ["gpu@1.0.0"])


def test_the_record_of_a_release_cannot_be_taken_back_in_a_change(site: Path, tmp_path: Path) -> None:
    head = tmp_path / "head"
    write_fleet(head)
    lock = head / "blueprints/blueprints.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(keepends=True) if "gpu@" not in line))
    refused = review_states(site, head, ("base", "head"), GIVEN).refused
    assert [(item.rule, item.file) for item in refused] == [("releases", "blueprints/gpu/1.0.0.yaml")]


def test_parts_of_versions() -> None:
    assert [next_version("1.2.3", part) for part in ("patch", "minor", "major")] == ["1.2.4", "1.3.0", "2.0.0"]
    assert [moved_part("1.2.3", new) for new in ("1.2.4", "1.10.0", "2.0.0", "1.2.3", "1.1.9")] == [
        "patch", "minor", "major", None, None,
    ]  # fmt: skip


def test_a_freeze_counts_only_in_its_time_and_a_change_of_rules_is_judged_by_the_old_ones(
    site: Path, tmp_path: Path
) -> None:
    (site / "inventory/policies.yaml").write_text(POLICIES)
    head = tmp_path / "head"
    write_fleet(head)
    (head / "inventory/policies.yaml").write_text("schema: 1\npolicies: []\n")
    new_version(head, "1.0.1", ("1.5.0", "1.5.1"), nodes=1)
    frozen = Circumstances(now=datetime(2026, 12, 24, tzinfo=UTC))
    verdicts = {item.name: item.verdict for item in review_states(site, head, ("b", "h"), frozen).policies}
    assert verdicts["quiet-weeks"] == "fail"
    calm = review_states(site, head, ("b", "h"), Circumstances(now=NOW + timedelta(days=60)))
    assert {item.name: item.verdict for item in calm.policies}["quiet-weeks"] == "pass"
    assert any("judged by the rules as they were" in line for line in calm.warnings)


def test_a_version_that_is_edited_in_place_goes_to_one_node_first_too(site: Path, tmp_path: Path) -> None:
    (site / "inventory/policies.yaml").write_text(POLICIES)
    new_version(site, "1.1.0", ("SysProfile: Performance", "SysProfile: Custom"))
    lock = site / "blueprints/blueprints.lock"
    lock.write_text("".join(line for line in lock.read_text().splitlines(keepends=True) if "gpu@1.1.0" not in line))
    head = tmp_path / "head"
    shutil.copytree(site, head)
    edit(head, "blueprints/gpu/1.1.0.yaml", "SysProfile: Custom", "SysProfile: Balanced")
    review = review_states(site, head, ("b", "h"), GIVEN)
    assert {item.name: item.verdict for item in review.policies}["one-first"] == "fail"
    text = render_markdown(review)
    assert "**gpu@1.1.0** (edited in place, before its release)" in text
    assert "gpu@1.1.0 is edited in place | bios, software" in text


def test_a_release_names_its_version(site: Path) -> None:
    with pytest.raises(UsageError, match="which version") as caught:
        release_versions(site, ["gpu"])
    assert caught.value.hint == "for its newest: gpu@1.0.0"


def test_another_name_for_a_machine_is_told_as_such_and_counts_its_gpus(site: Path, tmp_path: Path) -> None:
    head = tmp_path / "head"
    shutil.copytree(site, head)
    edit(head, "inventory/racks/a01.yaml", "name: g05,", "name: train-5,")
    review = review_states(site, head, ("b", "h"), GIVEN)
    told = {item.node: (item.what[-1], item.reimage, item.gpus_out) for item in review.nodes}
    assert told == {
        "train-5": ("it is the machine of g05, which loses its workload and its system", True, 8),
        "g05": ("is removed from the inventory; its machine becomes train-5", False, 0),
    }
    assert review.gpus_out_at_once == 8
