"""Files that a person hands to the simulator, read within bounds."""

from __future__ import annotations

from pathlib import Path

from metalwright.errors import LabError

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A captured tree of a large machine has some tens of megabytes."""


def read_given_text(path: Path, what: str) -> str:
    """The UTF-8 text of a regular file; ``what`` names it in the error.

    Raises:
        LabError: missing, unreadable, not a regular file, too large, or not UTF-8.
    """
    failed = f"the {what} cannot be read"
    try:
        if not path.is_file():
            found = "something that is no regular file" if path.exists() else "nothing"
            raise LabError(failed, where=str(path), expected="a file", found=found)
        with path.open("rb") as stream:
            data = stream.read(min(path.stat().st_size, MAX_FILE_BYTES) + 1)
        if len(data) > MAX_FILE_BYTES:
            raise LabError(failed, where=str(path), expected=f"at most {MAX_FILE_BYTES} bytes")
        return data.decode()
    except OSError as error:
        raise LabError(failed, where=str(path)[:300], found=error.strerror) from error
    except UnicodeDecodeError as error:
        raise LabError(failed, where=str(path), expected="UTF-8", found=f"another byte at {error.start}") from error
