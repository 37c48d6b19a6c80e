"""Where a lab keeps its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The files of the lab in one directory."""

    directory: Path

    @property
    def spec_file(self) -> Path:
        """The lab file as it was brought up, mode 0600."""
        return self.directory / "lab.json"

    @property
    def lock_file(self) -> Path:
        """Locked by the daemon as long as it lives."""
        return self.directory / "lab.lock"

    @property
    def daemon_file(self) -> Path:
        """Process id, control port and token of a daemon that is ready, mode 0600."""
        return self.directory / "daemon.json"

    @property
    def log_file(self) -> Path:
        """What the daemon says."""
        return self.directory / "lab.log"

    @property
    def machines(self) -> Path:
        """State, disks and consoles of all machines."""
        return self.directory / "machines"

    def machine(self, name: str) -> Path:
        """The folder of one machine."""
        return self.machines / name
