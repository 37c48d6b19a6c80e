"""How operations tell what they would change: to people with ``--diff``, to the caller of a preview in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from pyinfra import host, logger
from pyinfra.api.state import StateStage

from metalwright.model.drift import DIFFERENCES_VARIABLE


def show_diff(lines: Iterable[str]) -> None:
    """Print ``name: current → desired`` lines where ``--diff`` was given; once, before anything is changed.

    Call it before the first command is yielded: pyinfra's preparation looks no further.
    """
    if not host.state.config.DIFF or host.state.current_stage != StateStage.Prepare:
        return
    shown = list(lines)
    for item in shown:
        logger.info(f"{host.print_prefix}  {item}")
    path = os.environ.get(DIFFERENCES_VARIABLE)
    if path and shown:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"operation": _operation(), "lines": shown}) + "\n")


def line(name: str, current: object, desired: object) -> str:
    """Return one line of a diff."""
    return f"{name}: {_text(current)} → {_text(desired)}"


def _operation() -> str:
    """The name of the operation that prepares now, as pyinfra's own report has it."""
    current = host.current_op_hash
    return " / ".join(sorted(host.state.op_meta[current].names)) if current is not None else ""


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
