"""Secrets for ramdisks that a network boot started: kept beside the medium, given out once, to the declared machine.

A program that anybody on the network may fetch carries no secret. Its agent claims token and nonce over TLS instead.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError
from metalwright.imaging.identity_check import find_mismatches
from metalwright.imaging.medium_secrets import MediumSecrets
from metalwright.model.agent_protocol import BootIdentity
from metalwright.model.deployment import Deployment, DeploymentState

CLAIM_KEYS: Final = 2
"""Declared keys that must agree at least, one of them the MAC of a port."""


def write_claim(medium: Path, secrets: MediumSecrets) -> None:
    """Keep the secrets of a network boot beside its ``medium``, mode 0600."""
    path = _path(medium)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(secrets._asdict(), file)


def read_claim(medium: Path) -> MediumSecrets:
    """Return the secrets that belong to ``medium``. Raises ImageError when they are gone."""
    try:
        return MediumSecrets(**json.loads(_path(medium).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise ImageError(
            "the secrets of a network boot are gone", where=_path(medium).name, hint="run provision again"
        ) from error


def find_armed(armed: Sequence[Deployment], mac: str) -> Deployment | None:
    """Return the one armed deployment whose node has a port with this MAC; two of them are none."""
    found = [item for item in armed if mac.lower() in {known.lower() for known in item.task.expect.macs}]
    return found[0] if len(found) == 1 else None


def is_armed(deployment: Deployment) -> bool:
    """Whether a network boot of the node may begin: ordered for PXE, and no ramdisk has said hello yet."""
    return deployment.boot_method == "pxe" and deployment.state is DeploymentState.PREPARED


def claim_mismatches(deployment: Deployment, identity: BootIdentity) -> tuple[str, ...]:
    """Return the declared keys that do not agree; too few declared keys, or none of a port, agree with nobody."""
    keys = deployment.task.expect.keys
    if len(keys) < CLAIM_KEYS or "macs" not in keys:
        return keys
    return find_mismatches(deployment.task.expect, identity)


def _path(medium: Path) -> Path:
    return medium.with_suffix(".claim")
