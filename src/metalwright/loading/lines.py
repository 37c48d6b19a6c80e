"""What all lock files share: a header that names the format, one record a line, sorted, nothing else.

One record a line in one order makes two branches that change one record conflict in git, and two that change
different records merge.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.files import decode_text, read_bytes

_MAX_LOCK_BYTES = 64 * 1024 * 1024
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


@dataclass(frozen=True)
class LockLine:
    """One record: its blank-separated words and where it stands."""

    words: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class LockFormat:
    """A kind of lock file; ``written_by`` is the command that a reader of the file is told."""

    name: str
    written_by: str

    @property
    def header(self) -> str:
        """First line of every file of this kind."""
        return f"# metalwright {self.name} 1 - written by `{self.written_by}`, reviewed in git, never edited by hand"

    def render(self, lines: Iterable[str]) -> str:
        """The whole file."""
        return "".join(f"{line}\n" for line in (self.header, *lines))

    def read(self, path: Path, *, root: Path) -> tuple[LockLine, ...]:
        """The records of a file; none when there is no file yet.

        Raises:
            InvalidFilesError: torn, empty, conflicted or foreign content; it is never taken for a fresh start.
        """
        text = self.read_text(path, root=root)
        return () if text is None else self.parse(text, path)

    def read_text(self, path: Path, *, root: Path) -> str | None:
        """The text of a file; ``None`` when there is no file yet.

        Raises:
            LoadingError: it cannot be read.
        """
        if not path.exists() and not path.is_symlink():
            return None
        return decode_text(read_bytes(path, root=root, max_bytes=_MAX_LOCK_BYTES), path)

    def parse(self, text: str, path: Path) -> tuple[LockLine, ...]:
        """As ``read``, for text at hand."""
        lines = text.split("\n")
        damage = self._damage(text, lines, path)
        if damage is not None:
            raise InvalidFilesError([damage])
        marked = [(number, line) for number, line in enumerate(lines[1:-1], start=2)]
        errors = [error for number, line in marked if (error := _line_error(line, f"{path}:{number}:1"))]
        if errors:
            raise InvalidFilesError(errors)
        return tuple(LockLine(tuple(line.split(" ")), f"{path}:{number}:1") for number, line in marked)

    def _damage(self, text: str, lines: list[str], path: Path) -> LoadingError | None:
        hint = "restore the file from git; a damaged lock file is never taken for an empty one"
        if not text:
            return LoadingError("the lock file is empty", where=str(path), expected="its header line", hint=hint)
        if not lines[0].startswith(f"# metalwright {self.name} 1 "):
            return LoadingError(
                "not a lock file of this kind",
                where=f"{path}:1:1",
                expected=self.header,
                found=lines[0][:80],
                hint=hint,
            )
        if lines[-1]:
            return LoadingError(
                "the lock file is cut off", where=f"{path}:{len(lines)}:1", expected="a line end", hint=hint
            )
        return None


def _line_error(line: str, where: str) -> LoadingError | None:
    if line.startswith(_MARKERS):
        return LoadingError(
            "the lock file holds an unresolved merge",
            where=where,
            found=line[:20],
            hint="take one side with git checkout --ours or --theirs, then run the command of the first line again",
        )
    if not line or line.startswith("#") or line != line.strip() or "  " in line:
        return LoadingError(
            "a lock file holds records only",
            where=where,
            expected="words with one blank between them",
            found=line[:40] or "an empty line",
        )
    return None
