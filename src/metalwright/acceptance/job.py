"""The file that tells the suite what to check and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from metalwright.ssh import Target

JOB_VARIABLE = "METALWRIGHT_ACCEPTANCE_JOB"
"""The environment variable with the path of the job file."""


@dataclass(frozen=True)
class Job:
    """One acceptance run against one node. ``expected`` comes from :func:`~.expectations.expectations`.

    ``host_key`` is the pinned public key, ``private_key`` the path of the file to log in with (``None``: SSH agent).
    """

    target: Target
    host_key: str
    expected: Mapping[str, Any]
    private_key: Path | None = None
    connect_timeout_s: float = 10.0
    command_limit_s: float = 30.0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; holds no secret."""
        return {
            "target": asdict(self.target),
            "host_key": self.host_key,
            "expected": dict(self.expected),
            "private_key": str(self.private_key) if self.private_key else None,
            "connect_timeout_s": self.connect_timeout_s,
            "command_limit_s": self.command_limit_s,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`."""
        key = data["private_key"]
        return cls(
            target=Target(**data["target"]),
            host_key=data["host_key"],
            expected=data["expected"],
            private_key=Path(key) if key else None,
            connect_timeout_s=data["connect_timeout_s"],
            command_limit_s=data["command_limit_s"],
        )
