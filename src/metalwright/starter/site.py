"""A new site repository: the skeleton that comes with metalwright, an inventory, and its schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from metalwright.errors import LoadingError, UsageError
from metalwright.loading.files import write_atomically
from metalwright.loading.schemas import write_schemas

_TREES = ("blueprints", "deploys", "templates", "runbooks", "hooks")
_DOT_FILES = {
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "README.md": "README.md",
    "github-review.yaml": ".github/workflows/review.yaml",
    "codeowners": ".github/CODEOWNERS",
    "gitlab-ci.yml": ".gitlab-ci.yml",
}


def skeleton_root() -> Path:
    """Where the skeleton's ``blueprints/``, ``deploys/``, ``templates/`` and ``runbooks/`` lie.

    In a wheel that is inside the package, in an editable checkout the repository itself.

    Raises:
        LoadingError: neither is there.
    """
    package = Path(__file__).parents[1]
    candidates = (package / "_skeleton", package.parents[1])
    for candidate in candidates:
        if (candidate / "blueprints").is_dir():
            return candidate
    raise LoadingError(
        "this installation has no skeleton of a site repository",
        where=str(package),
        expected=" or ".join(str(candidate / "blueprints") for candidate in candidates),
        hint="install metalwright from its wheel, or run it from its checkout",
    )


def create_site(
    directory: Path, *, inventory: Mapping[str, str] | None = None, refresh: bool = False
) -> tuple[Path, ...]:
    """Write a site repository; returns the files, relative to ``directory``.

    ``inventory`` maps paths below ``inventory/`` to their text and replaces the starter's own ``site.yaml``,
    ``networks.yaml`` and ``racks/rack-1.yaml``. ``refresh`` writes over the skeleton's files in a directory that
    exists, and leaves all others alone.

    Raises:
        UsageError: the directory is not empty (without ``refresh``).
        LoadingError: a file cannot be read or written.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError("there is a file of this name", where=str(directory), hint="name a new directory")
    if not refresh and directory.exists() and any(directory.iterdir()):
        raise UsageError(
            "the directory is not empty", where=str(directory), hint="name a new directory; nothing was written"
        )
    written = []
    for relative, data in _files(inventory):
        path = directory / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LoadingError("cannot make the directory", where=str(path.parent), found=error.strerror) from error
        write_atomically(path, data, mode=0o755 if data.startswith(b"#!") else 0o644)
        written.append(relative)
    schemas = write_schemas(directory / "schemas")
    return (*written, *(path.relative_to(directory) for path in schemas))


def _files(inventory: Mapping[str, str] | None) -> Iterator[tuple[Path, bytes]]:
    root, starter = skeleton_root(), Path(__file__).parent
    for tree in _TREES:
        yield from _tree(root, tree)
    for path in sorted((root / "inventory").glob("*.py")):
        yield path.relative_to(root), path.read_bytes()
    yield from _tree(root, "inventory/group_data")
    for name, target in _DOT_FILES.items():
        yield Path(target), (starter / name).read_bytes()
    if inventory is None:
        yield from _tree(starter, "inventory")
    else:
        for name, text in sorted(inventory.items()):
            yield Path("inventory") / name, text.encode()


def _tree(root: Path, tree: str) -> Iterator[tuple[Path, bytes]]:
    for path in sorted((root / tree).rglob("*")):
        hidden = any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(root).parts)
        if path.is_file() and not hidden:
            yield path.relative_to(root), path.read_bytes()
