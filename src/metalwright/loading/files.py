"""Files of a site repository: read within bounds, written all or nothing."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from metalwright.errors import LoadingError

MAX_FILE_BYTES = 2 * 1024 * 1024
"""No file that a person writes is larger; a larger one is a mistake or an attack."""

MAX_FLEET_FILE_BYTES = 64 * 1024 * 1024
"""No file that holds a line for each machine of a fleet is larger: plans, snapshots, lease files, sticker lists."""

_TOLD_PATH_CHARACTERS = 300

_FOREIGN_BOMS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


_TOO_LARGE = "files of a site are written by people: this one is something else, or belongs elsewhere"
_ENCODING = "save it as UTF-8 in the editor, or: iconv -f UTF-16 -t UTF-8"


def inside(path: Path, root: Path) -> Path:
    """The path, proven to lie in ``root`` after all symbolic links.

    Raises:
        LoadingError: it leads out of the repository.
    """
    if _is_plainly_below(path, root):
        return path
    try:
        real = path.resolve()
    except (OSError, RuntimeError) as error:
        raise LoadingError("the path leads nowhere", where=_told(path), found=_reason(error)) from error
    if not real.is_relative_to(root.resolve()):
        raise LoadingError(
            "the file lies outside of the site repository",
            where=str(path),
            expected=f"a file below {root}",
            found=f"a link to {real}",
            hint="copy the file into the repository; what is not in git cannot be reviewed",
        )
    return path


def _is_plainly_below(path: Path, root: Path) -> bool:
    """Whether no part of the path below ``root`` is a link: then nothing has to be resolved."""
    parts = path.parts
    if parts[: len(root.parts)] != root.parts or ".." in parts:
        return False
    below = len(parts) - len(root.parts)
    return not any(step.is_symlink() for step in (path, *list(path.parents)[: below - 1]))


def read_bytes(
    path: Path, *, root: Path | None, max_bytes: int = MAX_FILE_BYTES, too_large_hint: str = _TOO_LARGE
) -> bytes:
    """The bytes of a regular file inside ``root``; ``None`` for a file that somebody named on the command line.

    ``too_large_hint`` says what to do about one above ``max_bytes``.

    Raises:
        LoadingError: missing, unreadable, not a regular file, too large, or outside of ``root``.
    """
    if root is not None:
        inside(path, root)
    try:
        if not path.is_file():
            found = "nothing" if not path.exists() else "something that is no regular file"
            raise LoadingError("cannot read the file", where=_told(path), expected="a file", found=found)
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise LoadingError("cannot read the file", where=_told(path), found=_reason(error)) from error
    if len(data) > max_bytes:
        raise LoadingError(
            "the file is too large",
            where=str(path),
            expected=f"at most {max_bytes} bytes",
            found=f"{len(data)} or more",
            hint=too_large_hint,
        )
    return data


def read_text(path: Path, *, root: Path | None, max_bytes: int = MAX_FILE_BYTES) -> str:
    """The text of a UTF-8 file inside ``root``; a byte-order mark and CRLF line ends are accepted.

    Raises:
        LoadingError: as ``read_bytes``; also another encoding, or NUL bytes (a torn write).
    """
    return decode_text(read_bytes(path, root=root, max_bytes=max_bytes), path)


def decode_text(data: bytes, path: Path) -> str:
    """UTF-8 bytes as text, without byte-order mark, line ends as ``\\n``.

    Raises:
        LoadingError: another encoding, or NUL bytes.
    """
    for bom, name in _FOREIGN_BOMS.items():
        if data.startswith(bom):
            raise LoadingError(
                "the file is not UTF-8", where=f"{path}:1:1", expected="UTF-8", found=name, hint=_ENCODING
            )
    if b"\0" in data:
        line, column = _line_column(data, data.index(b"\0"))
        raise LoadingError(
            "the file contains NUL bytes",
            where=f"{path}:{line}:{column}",
            expected="text",
            found=f"{data.count(0)} NUL bytes",
            hint="a crash or a full disk can leave such a file; restore it from git",
        )
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _line_column(data, error.start)
        raise LoadingError(
            "the file is not UTF-8",
            where=f"{path}:{line}:{column}",
            expected="UTF-8",
            found=f"byte 0x{data[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from error
    return text.replace("\r\n", "\n")


def _told(path: Path) -> str:
    """The path, cut where it is longer than any that can exist."""
    text = str(path)
    return text if len(text) <= _TOLD_PATH_CHARACTERS else f"{text[:_TOLD_PATH_CHARACTERS]}…"


def _reason(error: OSError | RuntimeError | ValueError) -> str:
    """Why a path cannot be used; a loop of links and a NUL in a name are no ``OSError``."""
    return (
        (error.strerror or type(error).__name__) if isinstance(error, OSError) else str(error)[:_TOLD_PATH_CHARACTERS]
    )


def _line_column(data: bytes, offset: int) -> tuple[int, int]:
    before = data[:offset]
    return before.count(b"\n") + 1, offset - (before.rfind(b"\n") + 1) + 1


def write_atomically(path: Path, data: bytes | str, mode: int = 0o644) -> None:
    """Write a file so that a crash at any instant leaves the old content or the new one, never a part.

    The temporary file lies beside the target, has ``mode`` from its first byte on, and is gone when this fails.

    Raises:
        LoadingError: cannot be written (full disk, no permission), or is a device, a pipe or a directory, which a
            rename would replace; the old content is intact.
    """
    if path.exists() and not path.is_file():
        raise LoadingError(
            "this is no regular file, so it is not replaced",
            where=str(path),
            expected="a file",
            hint="name another one",
        )
    raw = data.encode() if isinstance(data, str) else data
    if path.name in ("", ".."):
        raise LoadingError("cannot write the file", where=str(path), expected="a file", found="a directory")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        _write_and_sync(temporary, raw, mode)
        temporary.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise LoadingError(
            "cannot write the file", where=_told(path), found=error.strerror, hint="the old content is unchanged"
        ) from error


def _write_and_sync(path: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as stream:
        os.fchmod(stream.fileno(), mode)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def sync_directory(directory: Path) -> None:
    """Make a rename in ``directory`` survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_writable(directory: Path) -> bool:
    """Whether files can be made in a directory, or in the nearest one above it that there is."""
    above = (directory.absolute(), *directory.absolute().parents)
    there = next((path for path in above if os.access(path, os.F_OK)), None)
    return there is not None and os.access(there, os.W_OK | os.X_OK)
