"""Where a run's inputs come from: the commit of the site repository, and whether files differ from it."""

from __future__ import annotations

from pathlib import Path

from git import InvalidGitRepositoryError, NoSuchPathError, Repo
from git.exc import GitError


def provenance(root: Path) -> tuple[str | None, bool]:
    """Commit id and dirtiness; ``(None, True)`` outside a repository or before the first commit."""
    try:
        with Repo(root, search_parent_directories=True) as repository:
            return repository.head.commit.hexsha, repository.is_dirty(untracked_files=False)
    except (InvalidGitRepositoryError, NoSuchPathError, GitError, ValueError):
        return None, True
