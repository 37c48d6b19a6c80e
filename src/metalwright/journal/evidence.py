"""Evidence as files of a run, in ``.metalwright/evidence/RUN``: what a machine told before it was disturbed.

Every text is masked before it is written; files are new ones, for their owner alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from metalwright.secrets.masking import mask_texts


def evidence_dir(state: Path, run: str | None) -> Path:
    """Return where the evidence of a run lies below the ``state`` directory of a site."""
    return state / "evidence" / (run or "pyinfra")


def write_evidence(directory: Path, name: str, node: str, now: datetime, content: Mapping[str, Any]) -> Path:
    """Write ``content`` as a JSON file of its own, ``NAME-TIME.json``, and return it. Raises OSError."""
    whole = {"schema": 1, "node": node, "at": now.isoformat(), **mask_texts(dict(content))}
    text = json.dumps(whole, indent=1, ensure_ascii=False)
    return write_evidence_file(directory, f"{name}-{now:%Y%m%dT%H%M%S%fZ}.json", text.encode())


def write_evidence_file(directory: Path, name: str, data: bytes) -> Path:
    """Write a new file with mode 0600 and return it; the caller has masked ``data``. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = directory / name
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return path
