"""Rendered files that a command writes for other programs, or only compares with what is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from metalwright.errors import LoadingError, UsageError
from metalwright.loading import write_atomically

EXIT_DIFFERENCE = 2


def export_directory(text: str) -> Path:
    """Return the directory that was named; an empty name, as of a variable that is not set, is none.

    Raises UsageError.
    """
    if not text.strip():
        raise UsageError(
            "the directory has no name", expected="a directory to write to", found=repr(text), hint="`.` is this one"
        )
    return Path(text)


ExportDirectory = Annotated[
    Path, typer.Argument(metavar="DIRECTORY", parser=export_directory, help="Where the files are written.")
]


def write_export(directory: Path, files: Mapping[str, str], *, check: bool) -> int:
    """Write the files (path below ``directory`` → text) that differ from what is there; returns the exit code.

    With ``check`` nothing is written, and the code is 2 where something would be. Scripts (``#!``) are executable.

    Raises LoadingError where it cannot write.
    """
    stale = [name for name, text in sorted(files.items()) if _text(directory / name) != text]
    if not stale:
        typer.echo(f"{len(files)} files are up to date", err=True)
    for name in stale:
        if not check:
            write_files(directory, {name: files[name]})
        typer.echo(f"{'would write' if check else 'wrote'} {directory / name}")
    return EXIT_DIFFERENCE if check and stale else 0


def write_files(directory: Path, files: Mapping[str, str]) -> None:
    """Write every file below ``directory``; raises LoadingError where it cannot."""
    for name, text in files.items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LoadingError("cannot make the directory", where=str(path.parent), found=error.strerror) from error
        write_atomically(path, text, mode=0o755 if text.startswith("#!") else 0o644)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
