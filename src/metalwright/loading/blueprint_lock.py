"""``blueprints/blueprints.lock``: the digest of every released blueprint file, whose bytes never change again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.files import read_bytes, write_atomically
from metalwright.loading.lines import LockFormat

BLUEPRINTS = LockFormat("blueprints.lock", "metalwright blueprint release")


def lock_path(root: Path) -> Path:
    """Where the lock of a site repository lies."""
    return root / "blueprints" / "blueprints.lock"


def file_digest(path: Path, *, root: Path) -> str:
    """``sha256:…`` of the bytes of a blueprint file; CRLF counts as LF, so that a checkout on Windows is the same."""
    return "sha256:" + hashlib.sha256(read_bytes(path, root=root).replace(b"\r\n", b"\n")).hexdigest()


RETIRED = "retired"
"""Third word of the record of a version whose file is gone on purpose; its number is never used again."""


def read_blueprint_lock(root: Path) -> dict[str, str]:
    """``name@version`` → digest of the file, retired versions left out; empty when nothing was released yet.

    Raises:
        InvalidFilesError: damaged or unsorted lock.
    """
    return {ref: digest for ref, (digest, is_retired) in read_records(root).items() if not is_retired}


def read_records(root: Path) -> dict[str, tuple[str, bool]]:
    """``name@version`` → digest, and whether the version was retired.

    Raises:
        InvalidFilesError: as ``read_blueprint_lock``.
    """
    records: dict[str, tuple[str, bool]] = {}
    errors = []
    for line in BLUEPRINTS.read(lock_path(root), root=root):
        is_retired = line.words[2:] == (RETIRED,)
        ref, digest = line.words[:2] if len(line.words) == 2 or is_retired else ("", "")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*@\d+\.\d+\.\d+", ref) or not re.fullmatch(
            r"sha256:[0-9a-f]{64}", digest
        ):
            errors.append(
                LoadingError("unreadable record", where=line.where, expected="NAME@VERSION sha256:DIGEST [retired]")
            )
        elif ref in records:
            errors.append(
                LoadingError(f"{ref} is recorded twice", where=line.where, hint="released files never change")
            )
        else:
            records[ref] = (digest, is_retired)
    if errors:
        raise InvalidFilesError(errors)
    return records


def changed_blueprints(root: Path, released: dict[str, str]) -> list[LoadingError]:
    """An error for every released file that is gone or has other bytes than when it was released."""
    errors = []
    for ref, digest in released.items():
        path = _path(root, ref)
        if not path.exists():
            errors.append(
                LoadingError(
                    f"the released blueprint {ref} is gone",
                    where=str(path),
                    hint="restore it from git; nodes may still be on it, and a rollback needs it",
                )
            )
        elif (found := file_digest(path, root=root)) != digest:
            errors.append(
                LoadingError(
                    f"the released blueprint {ref} was changed",
                    where=str(path),
                    expected=digest,
                    found=found,
                    hint="restore the file from git and put the change into a new version",
                )
            )
    return errors


def release(root: Path, refs: Iterable[str], *, replace: bool = False) -> dict[str, str]:
    """Record the digests of blueprint files; returns the new lock.

    ``replace`` is for a copy that was never shared, such as a lab whose image digest is written in.

    Raises:
        LoadingError: no such file, or (without ``replace``) other bytes than those released before.
    """
    records = read_records(root)
    for ref in refs:
        digest = file_digest(_path(root, ref), root=root)
        before, is_retired = records.get(ref, (digest, False))
        if is_retired:
            raise LoadingError(
                f"{ref} was retired", where=str(lock_path(root)), hint="a number is never used twice: bump to a new one"
            )
        if not replace and before != digest:
            raise InvalidFilesError(changed_blueprints(root, {ref: before}))
        records[ref] = (digest, False)
    _write(root, records)
    return {ref: digest for ref, (digest, is_retired) in records.items() if not is_retired}


def retire(root: Path, ref: str) -> None:
    """Remove the file of a released version and keep its record, marked.

    Raises:
        LoadingError: it is not released.
    """
    records = read_records(root)
    if ref not in records or records[ref][1]:
        raise LoadingError(f"{ref} is no released version", where=str(lock_path(root)))
    records[ref] = (records[ref][0], True)
    _write(root, records)
    _path(root, ref).unlink(missing_ok=True)


def _write(root: Path, records: dict[str, tuple[str, bool]]) -> None:
    lines = (
        f"{ref} {digest} {RETIRED}" if is_retired else f"{ref} {digest}"
        for ref, (digest, is_retired) in sorted(records.items())
    )
    write_atomically(lock_path(root), BLUEPRINTS.render(lines))


def _path(root: Path, ref: str) -> Path:
    name, _, version = ref.partition("@")
    return root / "blueprints" / name / f"{version}.yaml"
