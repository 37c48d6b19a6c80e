"""The digest of the directories whose files change nodes as surely as a blueprint does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from metalwright.errors import LoadingError
from metalwright.loading.files import read_bytes

RECIPE_TREES = ("deploys", "templates", "inventory/group_data")
NOT_OF_NODES = ("templates/prometheus", "templates/orchestrator")
"""Inside them, but no part of any node: a threshold of an alert must not void certificates."""

MAX_FILE_BYTES = 1024 * 1024
"""Of one file of a recipe: each is rendered for every node, twice in a review."""

_TOO_LARGE = "templates hold configuration: put data into the image or a package"


def tree_digest(root: Path, trees: tuple[str, ...] = RECIPE_TREES) -> str:
    """``sha256:…`` over the paths and bytes of all files below ``trees`` (relative to ``root``).

    Modes, owners and times do not count; neither do caches of Python and hidden files. A tree that is not there
    counts as empty.

    Raises:
        LoadingError: an unreadable or too large file, or a link that leads out of ``root``.
    """
    total = hashlib.sha256()
    for relative, digest in file_digests(root, trees).items():
        total.update(relative.encode() + b"\0" + digest + b"\0")
    return f"sha256:{total.hexdigest()}"


def file_digests(root: Path, trees: tuple[str, ...] = RECIPE_TREES) -> dict[str, bytes]:
    """The files that ``tree_digest`` counts, sorted by path → SHA-256 of each.

    Raises:
        LoadingError: as ``tree_digest``.
    """
    return {
        relative: hashlib.sha256(
            read_bytes(path, root=root, max_bytes=MAX_FILE_BYTES, too_large_hint=_TOO_LARGE)
        ).digest()
        for relative, path in sorted(_files(root, trees))
    }


def _files(root: Path, trees: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    for tree in trees:
        for directory, names, files in os.walk(root / tree, onerror=_refuse):
            below = Path(directory).relative_to(root)
            names[:] = [name for name in names if _counts(below / name)]
            for name in names:
                if (Path(directory) / name).is_symlink():
                    raise LoadingError(
                        "a linked directory cannot be part of a recipe",
                        where=str(Path(directory) / name),
                        hint="copy the files into the repository",
                    )
            for name in files:
                if not name.startswith(".") and not name.endswith(".pyc"):
                    path = Path(directory) / name
                    yield path.relative_to(root).as_posix(), path


def _counts(path: Path) -> bool:
    """Whether a directory, relative to the site, is part of the recipe."""
    return path.name != "__pycache__" and not path.name.startswith(".") and path.as_posix() not in NOT_OF_NODES


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise LoadingError("cannot read the directory", where=str(error.filename), found=error.strerror) from error
