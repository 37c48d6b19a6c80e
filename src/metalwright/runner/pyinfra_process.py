"""pyinfra as a child process: its gevent patching must not meet our threads, and its exit code is not to be trusted.

A run counts only when the last line of stdout is JSON with non-null results for exactly the hosts that were asked
for. An interrupted pyinfra, an inventory that resolves to nothing and an unmatched ``--limit`` all exit 0.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from metalwright.errors import DeployError
from metalwright.model.drift import DIFFERENCES_VARIABLE

STDERR_TAIL_LINES = 12


@dataclass(frozen=True)
class PyinfraResult:
    """What one run did: operations by name with their outcome on the one host, and how many changed it."""

    deploy: str
    host: str
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    seconds: float

    @property
    def did_change(self) -> bool:
        """Whether anything was changed."""
        return bool(self.changed)


@dataclass(frozen=True)
class PyinfraCall:
    """One deploy on one host. ``inventory`` and ``deploy`` are paths inside the site repository."""

    site: Path
    inventory: str
    deploy: str
    host: str
    timeout_s: float
    environment: Mapping[str, str]
    pass_fds: Sequence[int] = ()
    log: Path | None = None
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Preview:
    """One operation that would change something; ``lines`` say what, as ``name: current → desired``, where it does."""

    operation: str
    lines: tuple[str, ...] = ()


def run_pyinfra(call: PyinfraCall) -> PyinfraResult:
    """Run one deploy on one host and prove that it happened.

    Raises:
        DeployError: pyinfra failed, timed out, or ran on other hosts than asked.
    """
    begun = time.monotonic()
    done = _spawn(call, "-y")
    _keep_log(call, done.stdout, done.stderr)
    return _judge(call, done, time.monotonic() - begun)


def _spawn(call: PyinfraCall, *mode: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("pyinfra"))
    command = [program, *mode, "--json", call.inventory, call.deploy, "--limit", call.host]
    command += [word for name, value in call.data.items() for word in ("--data", f"{name}={value}")]
    environment = {**os.environ, **call.environment, "PYINFRA_PROGRESS": "off", "METALWRIGHT_SITE": str(call.site)}
    try:
        done = subprocess.run(
            command,
            cwd=call.site,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=call.timeout_s,
            pass_fds=tuple(call.pass_fds),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DeployError(
            f"{call.deploy} did not end in time",
            where=call.host,
            expected=f"at most {call.timeout_s:.0f} s",
            hint="look at the host; run provision again when it answers",
        ) from error
    return done


def preview_pyinfra(call: PyinfraCall) -> tuple[Preview, ...]:
    """The operations that a run would change something with now; nothing is changed.

    Raises:
        DeployError: pyinfra failed, or looked at other hosts than asked.
    """
    with NamedTemporaryFile(prefix="metalwright-differences-") as told:
        environment = {**call.environment, DIFFERENCES_VARIABLE: told.name}
        done = _spawn(replace(call, environment=environment), "--dry", "--diff")
        lines = [json.loads(line) for line in told.read().decode().splitlines()]
    payload = _last_json(done.stdout)
    plan = payload.get("plan") if payload else None
    if plan is None or done.returncode != 0:
        raise _failed(call, done, "cannot be previewed")
    return tuple(
        Preview(
            item["name"], tuple(text for told in lines if told["operation"] == item["name"] for text in told["lines"])
        )
        for item in plan
        if item["hosts_with_change"]
    )


def _keep_log(call: PyinfraCall, stdout: str, stderr: str) -> None:
    if call.log is not None:
        call.log.parent.mkdir(parents=True, exist_ok=True)
        with call.log.open("a", encoding="utf-8") as log:
            log.write(f"$ pyinfra {call.inventory} {call.deploy} --limit {call.host}\n{stderr}{stdout}\n")


def _judge(call: PyinfraCall, done: subprocess.CompletedProcess[str], seconds: float) -> PyinfraResult:
    payload = _last_json(done.stdout)
    results = payload.get("results") if payload else None
    if results is None or done.returncode != 0:
        raise _failed(call, done, "failed" if done.returncode else "did not run")
    operations = results["operations"]
    seen = {name for item in operations for name in (*item["success"], *item["no_change"], *item["error"])}
    failed = sorted({*results["failed_hosts"], *(name for item in operations for name in item["error"])})
    if failed or seen - {call.host} or (operations and not seen):
        raise DeployError(
            f"{call.deploy} did not succeed on exactly the host that was asked for",
            where=call.host,
            expected=f"operations on {call.host} alone, none failed",
            found=f"operations on {', '.join(sorted(seen)) or 'no host'}; failed: {', '.join(failed) or 'none'}",
            hint=f"the whole output is in {call.log}" if call.log else None,
        )
    return PyinfraResult(
        deploy=call.deploy,
        host=call.host,
        changed=tuple(item["name"] for item in operations if item["success"]),
        unchanged=tuple(item["name"] for item in operations if not item["success"]),
        seconds=round(seconds, 2),
    )


def _failed(call: PyinfraCall, done: subprocess.CompletedProcess[str], what: str) -> DeployError:
    return DeployError(
        f"{call.deploy} {what}",
        where=call.host,
        found=_tail(done.stderr) or f"exit code {done.returncode} and no output",
        hint=f"the whole output is in {call.log}" if call.log else None,
    )


def _last_json(stdout: str) -> dict[str, Any] | None:
    lines = [line for line in stdout.splitlines() if line.strip()]
    try:
        value = json.loads(lines[-1]) if lines else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _tail(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if "Error" in line or "error" in line or line.startswith("    [")]
    return "\n            ".join((kept or lines)[-STDERR_TAIL_LINES:])
