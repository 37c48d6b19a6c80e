"""Two revisions out of git: where they parted, what is read of them, and what is refused with a reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.unit.review.fleet import GIVEN, edit, write_fleet

from metalwright.errors import LoadingError, UsageError
from metalwright.review.revisions import checked_out
from metalwright.reviewing import review_revisions


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", "-C", str(root), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str) -> str:
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main: first, then a site change; branch ``hold``: from first, one node held. The path has a blank in it."""
    root = tmp_path_factory.mktemp("with a blank") / "the site"
    root.mkdir()
    git(root, "init", "-qb", "main")
    write_fleet(root)
    commit(root, "first")
    git(root, "switch", "-qc", "hold")
    edit(root, "inventory/racks/a01.yaml", "serial: G-05,", "serial: G-05, state: held,")
    commit(root, "hold a node")
    git(root, "switch", "-q", "main")
    edit(root, "inventory/site.yaml", "ntp:", "dns: [10.0.0.53]\nntp:")
    commit(root, "a name server")
    return root


def test_what_main_did_meanwhile_is_no_part_of_the_change(history: Path) -> None:
    review = review_revisions(history, "main..hold", GIVEN)
    assert [node.node for node in review.nodes] == ["g05"]
    assert review.site == ()
    assert review.base == git(history, "rev-parse", "--short=12", "main~1")


def test_head_may_be_left_out_and_three_dots_mean_the_same(history: Path) -> None:
    assert review_revisions(history, "hold..", GIVEN) == review_revisions(history, "hold...main", GIVEN)


def test_the_working_tree_counts_for_nothing_and_is_left_alone(history: Path) -> None:
    extra = history / "inventory" / "racks" / "a03.yaml"
    extra.write_text("not: yaml: at all")
    try:
        assert not review_revisions(history, "main..hold", GIVEN).refused
    finally:
        extra.unlink()
    assert git(history, "status", "--porcelain") == ""


def test_a_rack_file_that_was_renamed_is_the_same_nodes(history: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(history), str(clone))
    git(clone, "mv", "inventory/racks/a01.yaml", "inventory/racks/b01.yaml")
    edit(clone, "inventory/racks/b01.yaml", "name: a01\n", "name: b01\n")
    commit(clone, "rename a rack")
    review = review_revisions(clone, "origin/main..HEAD", GIVEN)
    assert {node.what for node in review.nodes} >= {("moves from a01 unit 1 to b01 unit 1",)}
    assert not any("removed" in word or "new" in word for node in review.nodes for word in node.what)


def test_a_site_below_the_top_of_its_repository_is_found(tmp_path: Path) -> None:
    site = tmp_path / "sites" / "one"
    site.mkdir(parents=True)
    git(tmp_path, "init", "-qb", "main")
    write_fleet(site)
    commit(tmp_path, "first")
    edit(site, "inventory/racks/a01.yaml", "serial: G-05,", "serial: G-05, state: held,")
    commit(tmp_path, "hold")
    assert [node.node for node in review_revisions(site, "HEAD~1..HEAD", GIVEN).nodes] == ["g05"]


def test_a_shallow_clone_says_what_to_fetch(history: Path, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", "--no-single-branch", f"file://{history}", str(clone))
    with pytest.raises(LoadingError, match="no common ancestor") as caught:
        review_revisions(clone, "origin/main..origin/hold", GIVEN)
    assert "fetch-depth: 0" in str(caught.value)


def test_no_repository_no_commit_and_no_such_revision_are_told_apart(history: Path, tmp_path: Path) -> None:
    write_fleet(tmp_path)
    with pytest.raises(LoadingError, match="not in a git repository"):
        review_revisions(tmp_path, "main..HEAD", GIVEN)
    git(tmp_path, "init", "-qb", "main")
    with pytest.raises(LoadingError, match="no commit yet"):
        review_revisions(tmp_path, "main..HEAD", GIVEN)
    with pytest.raises(LoadingError, match="no such revision"):
        review_revisions(history, "nowhere..HEAD", GIVEN)


@pytest.mark.parametrize("text", ["main", "..HEAD", "", "--output=x..HEAD"])
def test_what_is_no_pair_of_revisions_is_wrong_usage(history: Path, text: str) -> None:
    with pytest.raises(UsageError):
        review_revisions(history, text, GIVEN)


def test_a_link_out_of_the_repository_is_refused_and_not_followed(history: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(history), str(clone))
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: hunter2\n")
    (clone / "inventory/racks/a09.yaml").symlink_to(secret)
    commit(clone, "a link")
    review = review_revisions(clone, "origin/main..HEAD", GIVEN)
    (refused,) = review.refused
    assert (refused.file, refused.what.partition(":")[0]) == (
        "inventory/racks/a09.yaml",
        "the file lies outside of the site repository",
    )
    assert "hunter2" not in review.model_dump_json()


def test_a_huge_file_is_refused_by_its_size(history: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(history), str(clone))
    with (clone / "inventory/racks/a09.yaml").open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    commit(clone, "100 MB")
    (refused,) = review_revisions(clone, "origin/main..HEAD", GIVEN).refused
    assert refused.what.startswith("the file is too large")


def test_nothing_stays_behind(history: Path) -> None:
    with checked_out(history, "main..hold") as pair:
        directory = pair.base_root.parent
        assert pair.moved
        assert (directory / "head" / "inventory" / "site.yaml").is_file()
    assert not directory.exists()
