"""The agent's one exception: every stop has a code, says what was expected and found, and whether it wrote."""

from __future__ import annotations

import errno
from typing import Final

_BLOCK_ERRORS: Final = {
    errno.ENODATA: "a defective medium",
    errno.EREMOTEIO: "a fault of its own",
    errno.EILSEQ: "wrong protection data",
    errno.ENOLINK: "a lost connection to it",
    errno.ETIMEDOUT: "no answer in time",
}
"""What Linux's block layer means by these numbers, whose ordinary words mislead ("No data available")."""


class AgentError(Exception):
    """The agent stops. ``code`` is a ``FailureCode`` of the protocol; ``wrote``: the disk was touched."""

    def __init__(
        self, code: str, what: str, *, expected: str | None = None, found: str | None = None, wrote: bool = False
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.expected = expected
        self.found = found
        self.wrote = wrote

    def __str__(self) -> str:
        lines = [f"{self.what} [{self.code}]"]
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.found is not None:
            lines.append(f"  found:    {self.found}")
        return "\n".join(lines)


def told_by_disk(error: OSError) -> str:
    """Return in words what the kernel says of a disk's read or write that failed."""
    words = error.strerror or str(error)
    meaning = _BLOCK_ERRORS.get(error.errno or 0)
    return f"the drive reports {meaning} ({words})" if meaning else words
