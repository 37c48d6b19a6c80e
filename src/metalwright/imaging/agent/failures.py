"""The agent's one exception: every stop has a code, says what was expected and found, and whether it wrote."""

from __future__ import annotations


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
