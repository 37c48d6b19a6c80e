"""Running the system's own tools, with their failure as an :class:`AgentError`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from metalwright.imaging.agent.failures import AgentError


def run_tool(
    argv: Sequence[str], *, code: str, stdin: str = "", accepted: tuple[int, ...] = (0,), wrote: bool = True
) -> str:
    """Run ``argv`` and return its standard output; an exit code outside ``accepted`` raises with its last words."""
    try:
        result = subprocess.run(argv, input=stdin, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise AgentError(code, f"{argv[0]} cannot be run", found=error.strerror, wrote=wrote) from error
    if result.returncode not in accepted:
        said = (result.stderr.strip() or result.stdout.strip())[-500:]
        raise AgentError(
            code,
            f"{' '.join(argv)} failed",
            expected=f"exit code {' or '.join(map(str, accepted))}",
            found=f"{result.returncode}: {said}",
            wrote=wrote,
        )
    return result.stdout
