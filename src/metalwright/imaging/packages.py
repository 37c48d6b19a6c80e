"""A package mirror for nodes without internet: the pinned packages, what they need beyond the image, a signed index.

``fetch_packages`` needs the network once; afterwards the directory is served as it is (``deb [signed-by=…] URL ./``).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metalwright.errors import ImageError
from metalwright.imaging.package_index import write_index
from metalwright.imaging.package_signing import PackageKey
from metalwright.imaging.private_apt import PrivateApt
from metalwright.model.blueprint import Blueprint
from metalwright.model.digests import digest
from metalwright.model.package import PackagePin

RECORD = "mirror.json"
PUBLIC_KEY = "metalwright.asc"
PACKAGES_DIRECTORY = "packages"
"""Where the mirrors of a site are, inside its state directory and in the URLs of its boot server."""


@dataclass(frozen=True)
class PackageMirror:
    """A complete mirror: ``versions`` maps each pinned package to its Debian version."""

    directory: Path
    versions: dict[str, str]


def fetch_packages(
    pins: Sequence[PackagePin],
    directory: Path,
    *,
    sources: Sequence[str],
    key: PackageKey,
    installed: Mapping[str, str] | None = None,
    architecture: str = "amd64",
) -> PackageMirror:
    """Fill ``directory`` with the pinned packages and their dependencies; nothing is fetched when it is complete.

    ``sources`` are lines of sources.list for the suite of the nodes. ``installed`` are the packages of the image and
    their versions: they are left out. Raises :class:`ImageError` when a version is not to be had; the error lists what
    the sources offer.
    """
    inputs = digest([[pin.to_json() for pin in pins], architecture, dict(installed or {}), key.key_id])
    record = _read_record(directory)
    if record.get("inputs") == inputs:
        return PackageMirror(directory, record["versions"])
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as temporary:
        apt = PrivateApt(Path(temporary) / "apt", sources, architecture)
        apt.pretend_installed(installed or {})
        versions = {pin.name: _choose(pin, apt.candidates(pin.name)) for pin in pins}
        fresh = Path(temporary) / "mirror"
        fresh.mkdir()
        apt.download(versions, fresh)
        write_index(fresh, key)
        (fresh / PUBLIC_KEY).write_text(key.public, encoding="utf-8")
        record = {"schema": 1, "inputs": inputs, "versions": versions}
        (fresh / RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")
        shutil.rmtree(directory, ignore_errors=True)
        fresh.rename(directory)
    directory.chmod(0o755)
    return PackageMirror(directory, versions)


def mirror_path(blueprint: Blueprint) -> str:
    """Where the mirror of a blueprint is, relative to the state directory and to the boot server's URL."""
    return f"{PACKAGES_DIRECTORY}/{blueprint.name}/{blueprint.version}"


def read_public_key(directory: Path) -> str | None:
    """The public key of a complete mirror, ASCII-armoured; ``None`` when there is no such mirror."""
    if not (directory / RECORD).is_file():
        return None
    return (directory / PUBLIC_KEY).read_text(encoding="utf-8")


def _choose(pin: PackagePin, candidates: tuple[str, ...]) -> str:
    chosen = pin.best_of(candidates)
    if chosen is None:
        raise ImageError(
            f"no package source offers {pin.name} {pin.version}",
            expected=f"a Debian version {pin.version}, or one of upstream {pin.version}",
            found=", ".join(candidates) or "no version at all",
            hint="pin one of these in a new blueprint version",
        )
    return chosen


def _read_record(directory: Path) -> dict[str, Any]:
    try:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}
