"""Running the same commands that a person would type, and showing them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metalwright.errors import LabError


@dataclass
class Shell:
    """Types ``metalwright`` commands for one site; remembers how long each step took."""

    site: Path
    environment: dict[str, str]
    steps: list[tuple[str, float]] = field(default_factory=list)

    def run(self, *arguments: str, check: bool = True) -> int:
        """Run a command with its output shown.

        Raises:
            LabError: it failed (unless ``check`` is false).
        """
        say(f"$ metalwright {' '.join(arguments)}")
        begun = time.monotonic()
        done = subprocess.run(self._argv(arguments), env=self._environment(), stdin=subprocess.DEVNULL, check=False)
        self.steps.append((arguments[0], time.monotonic() - begun))
        if check and done.returncode != 0:
            raise LabError(
                "a step of the demo failed",
                where=f"metalwright {' '.join(arguments)}",
                expected="exit code 0",
                found=f"exit code {done.returncode}",
                hint="its own message is above; with KEEP=1 the machines stay for a look",
            )
        return done.returncode

    def run_for_json(self, *arguments: str) -> Any:
        """Run a command whose progress is shown and whose ``--json`` output is returned.

        Raises:
            LabError: it failed.
        """
        say(f"$ metalwright {' '.join(arguments)}")
        argv = self._argv((*arguments, "--json"))
        done = subprocess.run(
            argv, env=self._environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise LabError(
                "a step of the demo failed",
                where=f"metalwright {' '.join(arguments)}",
                expected="exit code 0",
                found=f"exit code {done.returncode}",
                hint="its own message is above; with KEEP=1 the machines stay for a look",
            )
        return json.loads(done.stdout)

    def pyinfra(self, *arguments: str) -> None:
        """Run plain pyinfra in the site, as a technician does.

        Raises:
            LabError: it failed.
        """
        say(f"$ pyinfra {' '.join(arguments)}")
        program = str(Path(sys.executable).with_name("pyinfra"))
        done = subprocess.run(
            [program, "-y", *arguments], cwd=self.site, env=self._environment(), stdin=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0:
            raise LabError("a step of the demo failed", where=f"pyinfra {' '.join(arguments)}", found="see above")

    def ask(self, *arguments: str) -> Any:
        """Run a reading command with ``--json`` and return what it says; its output is not shown."""
        argv = self._argv((*arguments, "--json"))
        done = subprocess.run(
            argv, env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            raise LabError(
                "a reading command gave no JSON",
                where=f"metalwright {' '.join(arguments)}",
                found=done.stderr.strip()[-600:] or f"exit code {done.returncode}",
            ) from error

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """A headline, and the seconds of what is inside."""
        say(f"\n== {title}")
        begun = time.monotonic()
        yield
        self.steps.append((title, time.monotonic() - begun))

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "metalwright.cli", "--site", str(self.site), *arguments]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


def say(text: str) -> None:
    """One line to the person who watches, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
