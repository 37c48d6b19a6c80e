"""Running the same commands that a person would type, and showing them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from metalwright.errors import LabError

_LAST_LINES_WITHIN_S = 2.0


@dataclass
class Shell:
    """Types ``metalwright`` commands for one site; remembers how long each step took."""

    site: Path
    environment: dict[str, str]
    steps: list[tuple[str, float]] = field(default_factory=list)

    def run(self, *arguments: str) -> None:
        """Run a command with its output shown.

        Raises:
            LabError: it failed.
        """
        say(f"$ metalwright {' '.join(arguments)}")
        begun = time.monotonic()
        done = subprocess.run(self._argv(arguments), env=self._environment(), stdin=subprocess.DEVNULL, check=False)
        self.steps.append((arguments[0], time.monotonic() - begun))
        _require_success(f"metalwright {' '.join(arguments)}", done.returncode)

    def run_for_json(self, *arguments: str) -> Any:
        """Run a command whose progress is shown and whose ``--json`` output is returned.

        Raises:
            LabError: it failed.
        """
        code, answer = self.run_watched(lambda _pid, _line: None, *arguments)
        _require_success(f"metalwright {' '.join(arguments)}", code)
        return answer

    def run_watched(self, see: Callable[[int, str], None], *arguments: str, as_json: bool = True) -> tuple[int, Any]:
        """Run a command (with ``--json``), show its progress and tell ``see`` its pid and each line of that.

        Returns the exit code (negative: the signal that ended it) and what it printed, None where that is no JSON.
        """
        say(f"$ metalwright {' '.join(arguments)}")
        argv = self._argv((*arguments, "--json") if as_json else arguments)
        with TemporaryFile("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                argv,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            reader = threading.Thread(target=_show, args=(process, see), daemon=True)
            reader.start()
            code = self._await(process)
            reader.join(_LAST_LINES_WITHIN_S)
            if process.stderr is not None and not reader.is_alive():
                process.stderr.close()
            output.seek(0)
            try:
                return code, json.load(output)
            except ValueError:
                return code, None

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
        _require_success(f"pyinfra {' '.join(arguments)}", done.returncode)

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

    @staticmethod
    def _await(process: subprocess.Popen[str]) -> int:
        """Wait for the end. Where the wait is interrupted (Ctrl-C reaches the command too), the command ends first."""
        try:
            return process.wait()
        except BaseException:
            process.wait()
            raise

    def _argv(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "metalwright.cli", "--site", str(self.site), *arguments]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment}


def _show(process: subprocess.Popen[str], see: Callable[[int, str], None]) -> None:
    """Pass on what the process writes. An orphan of a killed one may hold the pipe open: nobody waits for its end."""
    for line in process.stderr or ():
        sys.stderr.write(line)
        sys.stderr.flush()
        see(process.pid, line)


def _require_success(command: str, code: int) -> None:
    if code != 0:
        raise LabError(
            "a step of the demo failed",
            where=command,
            expected="exit code 0",
            found=f"exit code {code}",
            hint="its own message is above; with KEEP=1 the machines stay for a look",
        )


def say(text: str) -> None:
    """One line to the person who watches, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
