"""Digests: what changes a node changes the digest, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from metalwright.errors import LoadingError
from metalwright.loading import tree_digest
from metalwright.model.digests import recipe_digest


def make(root: Path) -> str:
    for name, text in {"deploys/a.py": "1", "templates/n/b.j2": "2", "inventory/group_data/all.py": "3"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tree_digest(root)


def test_the_same_files_have_the_same_digest_wherever_they_lie(tmp_path: Path) -> None:
    assert make(tmp_path / "one") == make(tmp_path / "two")


@pytest.mark.parametrize("name", ["deploys/a.py", "templates/n/b.j2", "templates/new", "inventory/group_data/all.py"])
def test_a_changed_or_new_file_changes_the_digest(tmp_path: Path, name: str) -> None:
    before = make(tmp_path)
    (tmp_path / name).write_text("changed")
    assert tree_digest(tmp_path) != before


def test_a_renamed_file_changes_the_digest(tmp_path: Path) -> None:
    before = make(tmp_path)
    (tmp_path / "deploys/a.py").rename(tmp_path / "deploys/b.py")
    assert tree_digest(tmp_path) != before


def test_modes_caches_and_other_directories_do_not_count(tmp_path: Path) -> None:
    before = make(tmp_path)
    (tmp_path / "deploys/a.py").chmod(0o700)
    (tmp_path / "deploys/__pycache__").mkdir()
    (tmp_path / "deploys/__pycache__/a.pyc").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/x").write_text("x")
    assert tree_digest(tmp_path) == before


def test_a_link_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "site"
    make(root)
    (tmp_path / "x").write_text("x")
    (root / "templates/x").symlink_to(tmp_path / "x")
    with pytest.raises(LoadingError, match="outside"):
        tree_digest(root)


def test_a_linked_directory_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "templates/m").symlink_to("n")
    with pytest.raises(LoadingError, match="linked directory"):
        tree_digest(tmp_path)


def test_a_recipe_depends_on_each_of_its_parts_and_not_on_key_order() -> None:
    one = recipe_digest({"a": 1, "b": 2}, {"x": 1}, "sha256:t", "0.1")
    assert one == recipe_digest({"b": 2, "a": 1}, {"x": 1}, "sha256:t", "0.1")
    others = [
        recipe_digest({"a": 1, "b": 3}, {"x": 1}, "sha256:t", "0.1"),
        recipe_digest({"a": 1, "b": 2}, {"x": 2}, "sha256:t", "0.1"),
        recipe_digest({"a": 1, "b": 2}, {"x": 1}, "sha256:u", "0.1"),
        recipe_digest({"a": 1, "b": 2}, {"x": 1}, "sha256:t", "0.2"),
    ]
    assert len({one, *others}) == 5
