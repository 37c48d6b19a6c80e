"""Two revisions of a site repository, read from git: the only part of a review that knows git."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from git import Commit, GitCommandError, InvalidGitRepositoryError, NoSuchPathError, Repo
from git.exc import BadName, GitError

from metalwright.errors import LoadingError, UsageError
from metalwright.loading.site_files import SITE_TREES

_LINK = 0o120000
MAX_BLOB_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Revisions:
    """Two revisions on disk. ``base`` and ``head`` name them shortly; ``moved`` says that the base is a merge base."""

    base: str
    head: str
    base_root: Path
    head_root: Path
    moved: bool


@contextmanager
def checked_out(root: Path, revisions: str) -> Iterator[Revisions]:
    """The two revisions of ``BASE..HEAD`` in a temporary directory: HEAD, and where it parted from BASE.

    ``HEAD`` may be left out. Nothing of the working tree is read or changed.

    Raises:
        UsageError: ``revisions`` is no ``BASE..HEAD``.
        LoadingError: no repository, no history, an unknown revision, or (in a shallow clone) no common ancestor.
    """
    base_name, separator, head_name = revisions.replace("...", "..").partition("..")
    if not separator or not base_name:
        raise UsageError("not two revisions", where=revisions, expected="BASE..HEAD, such as origin/main..HEAD")
    with _repository(root) as repository, TemporaryDirectory(prefix="metalwright-review-") as directory:
        prefix = _prefix(repository, root)
        named, head = _commit(repository, base_name), _commit(repository, head_name or "HEAD")
        base = _merge_base(repository, named, head)
        roots = [Path(directory) / name for name in ("base", "head")]
        written: dict[bytes, Path] = {}
        for commit, target in zip((base, head), roots, strict=True):
            _write(commit, prefix, target, written)
        yield Revisions(base.hexsha[:12], head.hexsha[:12], roots[0], roots[1], base != named)


@contextmanager
def _repository(root: Path) -> Iterator[Repo]:
    try:
        repository = Repo(root, search_parent_directories=True)
    except (InvalidGitRepositoryError, NoSuchPathError) as error:
        raise LoadingError(
            "not in a git repository",
            where=str(root),
            hint="a review compares two revisions: `git init`, then commit the site",
        ) from error
    with repository:
        if not repository.head.is_valid():
            raise LoadingError("the repository has no commit yet", where=str(root), hint="commit the site first")
        yield repository


def _prefix(repository: Repo, root: Path) -> PurePosixPath:
    """Where the site lies in the repository."""
    top = repository.working_tree_dir
    if top is None:
        return PurePosixPath()
    return PurePosixPath(root.resolve().relative_to(Path(top).resolve()).as_posix())


def _commit(repository: Repo, name: str) -> Commit:
    if name.startswith("-"):
        raise UsageError("not a revision", where=name)
    try:
        return repository.commit(name)
    except (BadName, GitError, ValueError, IndexError) as error:
        raise LoadingError(
            "no such revision",
            where=name,
            found="not in this clone",
            hint="fetch it: git fetch origin; in a CI job check out the whole history (fetch-depth: 0)",
        ) from error


def _merge_base(repository: Repo, base: Commit, head: Commit) -> Commit:
    try:
        found = repository.merge_base(base, head)
    except GitCommandError:
        found = []
    commit = found[0] if found else None
    if not isinstance(commit, Commit):
        shallow = Path(repository.git_dir, "shallow").exists()
        raise LoadingError(
            "the two revisions have no common ancestor",
            where=f"{base.hexsha[:12]}..{head.hexsha[:12]}",
            found="a shallow clone" if shallow else "two unrelated histories",
            hint="git fetch --unshallow, or fetch-depth: 0 in a CI job" if shallow else "name revisions of one history",
        )
    return commit


def _write(commit: Commit, prefix: PurePosixPath, target: Path, written: dict[bytes, Path]) -> None:
    """Write the site's trees of a commit; links stay links, so that one that leads outside is refused when read.

    ``written`` maps contents to files: what both revisions have is one file under two names, never written to again.
    """
    target.mkdir()
    tree: Any = commit.tree
    for part in prefix.parts:
        try:
            tree = tree / part
        except KeyError:
            return
    for item in tree:
        if item.name in SITE_TREES and item.type == "tree":
            _write_tree(item, target / item.name, written)
        elif item.name in SITE_TREES and item.mode == _LINK:
            _write_link(item, target / item.name)


def _write_link(item: Any, path: Path) -> None:
    path.symlink_to(item.data_stream.read().decode("utf-8", "surrogateescape"))


def _write_tree(tree: Any, target: Path, written: dict[bytes, Path]) -> None:
    target.mkdir()
    for item in tree:
        path = target / item.name
        if item.name in ("", ".", "..") or "/" in item.name or path.is_symlink() or path.exists():
            raise LoadingError("a forged name in the repository's tree", where=str(item.path), found=repr(item.name))
        if item.type == "tree":
            _write_tree(item, path, written)
        elif item.mode == _LINK:
            _write_link(item, path)
        elif item.type == "blob" and item.binsha in written:
            path.hardlink_to(written[item.binsha])
        elif item.type == "blob":
            data = item.data_stream  # one question to git for size and bytes
            with path.open("wb") as stream:
                if data.size <= MAX_BLOB_BYTES:
                    stream.write(data.read())
                else:
                    stream.truncate(data.size)  # larger than anything that is read: refused by its size alone
            written[item.binsha] = path
