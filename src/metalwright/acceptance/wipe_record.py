"""Records of erasures: made from what the ramdisk proved, signed with the site's key, verified like certificates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import ValidationError

from metalwright.acceptance.certificate import OTHER_VERSION, read_signed, signature_of, write_signed
from metalwright.acceptance.signing import SigningKey
from metalwright.errors import AcceptanceError
from metalwright.model.deployment import Deployment
from metalwright.model.wipe import WipeRecord


def record_path(state: Path, node: str, run: str) -> Path:
    """Where the record of an erasure lies."""
    return state / "wipes" / f"{node}-{run}.json"


def write_wipe_record(
    deployment: Deployment, former: str | None, key: SigningKey, state: Path, issued: datetime
) -> Path | None:
    """Keep what a verified deployment erased; None where it erased nothing. A record that is there stays as it is."""
    done, path = deployment.done, record_path(state, deployment.node, deployment.run)
    if done is None or not done.wiped:
        return None
    if not path.exists():
        record = WipeRecord(
            node=deployment.node,
            run=deployment.run,
            former=former,
            customer=deployment.task.stamp.customer,
            disks=done.wiped,
            issued=issued,
        )
        signed = record.model_copy(update={"signature": signature_of(record.to_json(), key)})
        write_signed(signed.to_json(), path)
    return path


def verify_wipe_record(path: Path, keys: Mapping[str, Ed25519PublicKey]) -> WipeRecord | None:
    """The record in ``path`` when it is authentic; None where the file holds something else, such as a certificate.

    Raises :class:`AcceptanceError`: it is none, or was changed, or is signed by nobody who is trusted.
    """
    data = read_signed(path, keys)
    if data.get("kind") != "wipe":
        return None
    try:
        return WipeRecord.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise AcceptanceError(
            "not a record of this schema", where=str(path), found=str(error), hint=OTHER_VERSION
        ) from error
