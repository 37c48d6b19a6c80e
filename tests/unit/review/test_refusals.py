"""What a review refuses: the place, what to do, and the same in SARIF."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.review.fleet import GIVEN, POLICIES, edit, new_version, write_fleet
from tests.unit.review.sarif_schema import SCHEMA
from tests.unit.review.test_snapshots import SNAPSHOTS

from metalwright.loading import read_site
from metalwright.loading.trees import MAX_FILE_BYTES
from metalwright.model.review import Review
from metalwright.review.markdown import render_markdown
from metalwright.review.sarif import render_sarif
from metalwright.reviewing import review_revisions, review_states

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net")


@pytest.fixture
def states(tmp_path: Path) -> tuple[Path, Path]:
    write_fleet(tmp_path / "base")
    shutil.copytree(tmp_path / "base", tmp_path / "head")
    return tmp_path / "base", tmp_path / "head"


def reviewed(states: tuple[Path, Path]) -> Review:
    return review_states(*states, ("base", "head"), GIVEN)


def sarif(review: Review, directory: Path) -> dict[str, Any]:
    """The run, after what the standard requires of it."""
    files = directory / "schema.json", directory / "review.sarif.json"
    for path, text in zip(files, (json.dumps(SCHEMA), render_sarif(review)), strict=True):
        path.write_text(text)
    judge = [sys.executable, "-m", "check_jsonschema", "--schemafile", *map(str, files)]
    judged = subprocess.run(judge, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stdout
    (run,) = json.loads(files[1].read_text())["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return dict(run)


def test_sarif_names_rule_file_line_and_column_and_says_what_to_do(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/networks.yaml", "10.1.0.", "10.0.0.")
    review = reviewed(states)
    run = sarif(review, states[0])
    (result,), (rule,) = run["results"], run["tool"]["driver"]["rules"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["level"], place["artifactLocation"]["uri"]) == ("error", "inventory/networks.yaml")
    assert place["region"] == {"startLine": 4, "startColumn": 63}
    hint = "give one of them another prefix; its nodes then need new addresses, pinned in their rack files"
    assert result["message"]["text"].endswith(f"\n\nhint: {hint}")
    assert rule == {"id": "networks", "help": {"text": hint, "markdown": f"- {hint}"}}
    assert Review.model_validate_json(review.model_dump_json(by_alias=True)) == review


def test_sarif_of_policies_and_of_paths_with_blanks_is_valid(states: tuple[Path, Path]) -> None:
    for root in states:
        (root / "inventory/policies.yaml").write_text(POLICIES)
    new_version(states[1], "1.1.0", ("SysProfile: Performance", "SysProfile: Fast"))
    spaced = states[1] / "blueprints/gpu/1.2.0 old.yaml"
    spaced.write_text((states[1] / "blueprints/gpu/1.1.0.yaml").read_text().replace("1.1.0", "1.2.0"))
    uris = [
        item["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for item in sarif(reviewed(states), states[0])["results"]
    ]
    assert uris == ["blueprints/gpu/1.2.0%20old.yaml"]
    spaced.unlink()
    levels = {item["ruleId"]: item["level"] for item in sarif(reviewed(states), states[0])["results"]}
    assert levels == {
        "bios": "error", "policy/bios-needs-hardware": "warning", "policy/one-first": "error",
    }  # fmt: skip


def test_every_refusal_that_is_shown_has_a_hint() -> None:
    rows = [
        line.split(" | ")
        for path in SNAPSHOTS.glob("*.md")
        for line in path.read_text().partition("### Refused")[2].partition("\n### ")[0].splitlines()[4:]
    ]
    assert [row for row in rows if len(row) == 4 and row[3].strip(" |") in ("", "–")] == []
    assert len([row for row in rows if len(row) == 4]) >= 5


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("unit: 40", "unit: 43", "node box-a01 does not fit into rack a01"),
        ("unit: 40", "unit: 3", "node box-a01 overlaps node g02"),
        ("name: a01\n", "name: b01\n", "a rack file is named as its rack"),
    ],
)
def test_rules_of_racks_say_what_to_do(states: tuple[Path, Path], old: str, new: str, what: str) -> None:
    edit(states[1], "inventory/racks/a01.yaml", old, new)
    first = reviewed(states).refused[0]
    assert first.what.startswith(what)
    assert first.hint
    assert (first.line or 0, first.column or 0) > (1, 1)


def test_a_linked_directory_is_named_once_and_not_under_every_node(states: tuple[Path, Path]) -> None:
    base, head = states
    (head / "blueprints").rename(head / "elsewhere")
    (head / "blueprints").symlink_to("elsewhere")
    assert [error.what for error in read_site(head).errors] == ["blueprints/ is a link"]
    subprocess.run([*GIT, "init", "-qb", "main", str(base)], check=True)
    for source in (base, head):
        if source is head:
            shutil.rmtree(base / "blueprints")
            shutil.copytree(head, base, symlinks=True, dirs_exist_ok=True)
        subprocess.run([*GIT, "-C", str(base), "add", "-A"], check=True)
        subprocess.run([*GIT, "-C", str(base), "commit", "-qm", "state"], check=True)
    review = review_revisions(base, "HEAD~1..HEAD", GIVEN)
    assert [(item.file, item.what) for item in review.refused] == [
        (
            "blueprints",
            "blueprints/ is a link: expected a directory of the site repository itself, found a link to elsewhere",
        )
    ]
    assert review.effect_unknown


def test_a_huge_template_is_refused_by_its_size_and_not_rendered(states: tuple[Path, Path]) -> None:
    path = states[1] / "templates/node/sshd.conf.j2"
    path.write_text("#" * MAX_FILE_BYTES)
    assert not reviewed(states).refused, "the limit itself is allowed"
    path.write_text("#" * (MAX_FILE_BYTES + 1))
    (refusal,) = reviewed(states).refused
    assert (refusal.file, f"at most {MAX_FILE_BYTES} bytes" in refusal.what) == ("templates/node/sshd.conf.j2", True)
    assert refusal.hint


def test_gpus_of_a_class_that_nodes_only_become_were_never_in_service(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/racks/a01.yaml", "blueprint: box@1.0.0", "blueprint: gpu@1.0.0")
    g19 = "name: g19, unit: 1, serial: G-19, bmc_mac: 52:54:00:00:00:13, blueprint: "
    edit(states[1], "inventory/racks/a02.yaml", f"{g19}gpu", f"{g19}box")
    review = reviewed(states)
    assert {node.node: node.gpus_out for node in review.nodes} == {"box-a01": 0, "g19": 8}
    assert "at most 8 GPUs out of service at once" in render_markdown(review)


def test_a_prefix_that_leaves_the_addresses_of_nodes_is_refused_as_check_does(states: tuple[Path, Path]) -> None:
    edit(states[1], "inventory/networks.yaml", "10.1.0.", "10.9.0.")
    (refusal,) = reviewed(states).refused
    assert (refusal.rule, refusal.file) == ("addresses", "inventory/addresses.lock")
    assert "which the network no longer allows" in refusal.what
    assert "never renumbered silently" in (refusal.hint or "")


def test_nodes_that_no_declared_way_can_boot_are_refused_as_check_does(states: tuple[Path, Path]) -> None:
    new_version(states[1], "1.1.0", ("network:", "boot: {mode: uefi, method: [pxe]}\nnetwork:"), nodes=1)
    refused = reviewed(states).refused
    assert [(item.rule, item.file) for item in refused] == [("boot", "blueprints/gpu/1.1.0.yaml")]
    assert refused[0].what.startswith("g00 can be booted in no way that its blueprint declares")


def test_secure_boot_of_an_image_that_git_does_not_know_as_signed_is_worth_a_look(states: tuple[Path, Path]) -> None:
    boot = "boot: {mode: uefi, secure_boot: true, method: [virtual-media]}\nnetwork:"
    new_version(states[1], "1.1.0", ("network:", boot), name="box", nodes=0)
    review = reviewed(states)
    assert not review.refused
    assert [text for text in review.warnings if "the image has no signed boot chain" in text]
