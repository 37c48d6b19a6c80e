"""A hook as a child process: started, looked at from time to time, ended when it takes too long. No shell, no sleep."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metalwright.errors import DeployError
from metalwright.secrets.value import Secret, redact

KEPT_LINES = 50
"""Of what a hook prints the last lines are kept."""
LONGEST_LINE = 1000
STOP_S = 5.0
_DELICATE = re.compile(r"TOKEN|PASSW|SECRET|CREDENTIAL|(^|_)KEY($|_)", re.IGNORECASE)


@dataclass
class HookProcess:
    """One call of a hook. ``exit_code`` is None while it runs; ``printed`` is the end of both of its outputs."""

    arguments: Sequence[str]
    process: subprocess.Popen[bytes]
    timeout_s: float
    begun: float = field(default_factory=time.monotonic)
    _lines: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_LINES))

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, name="hook", daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """Its exit status; negative: the signal that ended it."""
        code = self.process.poll()
        if code is not None:
            self._reader.join(1.0)  # a grandchild may hold the pipe for ever
        return code

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.begun

    @property
    def is_late(self) -> bool:
        """Whether it had its time."""
        return self.seconds >= self.timeout_s

    @property
    def printed(self) -> str:
        """Its last lines, secrets masked."""
        return redact("\n".join(list(self._lines)))

    @property
    def last_line(self) -> str:
        """The last of them; empty where it printed nothing."""
        return redact(next(reversed(list(self._lines)), ""))

    def stop(self) -> None:
        """End it and what it started, first politely; nothing happens where it has ended."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is not None:
                return
            os.killpg(self.process.pid, number)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                continue

    def _read(self) -> None:
        output = self.process.stdout
        if output is None:
            return
        with output:
            while chunk := output.readline(LONGEST_LINE):
                line = chunk.decode(errors="replace").rstrip()
                if line:
                    self._lines.append(line)


def start_hook(
    arguments: Sequence[str], *, site: Path, values: Mapping[str, str], timeout_s: float, hidden: Sequence[str] = ()
) -> HookProcess:
    """Start a hook in the site's directory; ``values`` are added to its environment, ``hidden`` names taken from it.

    Values of its environment whose names sound like secrets are masked in what it prints.

    Raises:
        DeployError: there is no such program, or it cannot be run.
    """
    program = arguments[0]
    path = str(site / program) if "/" in program else program
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | dict(values)
    for name, value in environment.items():
        if _DELICATE.search(name):
            Secret(value)
    try:
        process = subprocess.Popen(
            [path, *arguments[1:]],
            cwd=site,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise DeployError(
            "the hook cannot be run",
            where=program,
            expected="a program on PATH, absolute, or (with a slash) relative to the site, with leave to execute it",
            found=error.strerror,
            hint="correct `hooks` in inventory/site.yaml, or chmod +x it",
        ) from error
    return HookProcess(arguments, process, timeout_s)
