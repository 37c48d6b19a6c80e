"""A package mirror for nodes without internet: what a blueprint pins, what that needs beyond the image, a signed index.

``fetch_packages`` needs the network once and keeps what it fetched; ``write_mirror`` makes of it what nodes read
(``deb [signed-by=…] URL ./``).
"""

from __future__ import annotations

import json
import os
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
class FetchedPackages:
    """Packages as files; ``versions`` maps each pinned one to its Debian version, ``inputs`` is what made them."""

    directory: Path
    versions: dict[str, str]
    inputs: str


def fetch_packages(
    pins: Sequence[PackagePin],
    cache: Path,
    *,
    sources: Sequence[str],
    installed: Mapping[str, str] | None = None,
    called: Sequence[str] = (),
    architecture: str = "amd64",
) -> FetchedPackages:
    """The pinned packages, those ``called``, and their dependencies, in a directory of ``cache``; once it is there,
    nothing is fetched. Of the called ones the newest version is taken.

    ``sources`` are lines of sources.list for the suite of the nodes. ``installed`` are the packages of the image and
    their versions: they are left out. Raises :class:`ImageError` when a version is not to be had; the error lists what
    the sources offer.
    """
    more = [list(called)] if called else []
    inputs = digest([[pin.to_json() for pin in pins], architecture, dict(installed or {}), *more])
    directory = cache / inputs.removeprefix("sha256:")[:16]
    record = _read_record(directory)
    if record:
        return FetchedPackages(directory, record["versions"], inputs)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=cache) as temporary:
        apt = PrivateApt(Path(temporary) / "apt", sources, architecture)
        # The pinned packages themselves are served even where the image brings them: a node may have lost them.
        pinned = {pin.name for pin in pins}
        apt.pretend_installed({name: told for name, told in (installed or {}).items() if name not in pinned})
        versions = {pin.name: _choose(pin, apt.candidates(pin.name)) for pin in pins}
        fresh = Path(temporary) / "packages"
        fresh.mkdir(mode=0o755)
        wanted = {**{name: _newest(name, apt.candidates(name)) for name in called}, **versions}
        if wanted:
            apt.download(wanted, fresh)
        _write_record(fresh, {"schema": 1, "inputs": inputs, "versions": versions})
        _put_in_place(fresh, directory)
    return FetchedPackages(directory, versions, inputs)


def write_mirror(fetched: FetchedPackages, directory: Path, key: PackageKey) -> None:
    """Make ``directory`` a mirror of the packages, indexed and signed; nothing is done when it is one already."""
    wanted = {"schema": 1, "inputs": fetched.inputs, "key": key.key_id}
    if _read_record(directory) == wanted:
        return
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".indexing-", dir=directory.parent) as temporary:
        fresh = Path(temporary) / "mirror"
        fresh.mkdir(mode=0o755)
        for path in fetched.directory.glob("*.deb"):
            _link_or_copy(path, fresh / path.name)
        write_index(fresh, key)
        (fresh / PUBLIC_KEY).write_text(key.public, encoding="utf-8")
        _write_record(fresh, wanted)
        shutil.rmtree(directory, ignore_errors=True)
        _put_in_place(fresh, directory)


def mirror_path(blueprint: Blueprint) -> str:
    """Where the mirror of a blueprint is, relative to the state directory and to the boot server's URL."""
    return f"{PACKAGES_DIRECTORY}/{blueprint.name}/{blueprint.version}"


def read_public_key(directory: Path) -> str | None:
    """The public key of a complete mirror, ASCII-armoured; ``None`` when there is no such mirror."""
    if not (directory / RECORD).is_file():
        return None
    return (directory / PUBLIC_KEY).read_text(encoding="utf-8")


def _newest(name: str, candidates: tuple[str, ...]) -> str:
    if not candidates:
        raise ImageError(f"no package source offers {name}", hint="an agent of the blueprint calls it")
    return candidates[0]


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


def _write_record(directory: Path, record: Mapping[str, Any]) -> None:
    (directory / RECORD).write_text(json.dumps(record, indent=2), encoding="utf-8")


def _put_in_place(fresh: Path, directory: Path) -> None:
    """Of two processes that made the same at once, the first one's stays."""
    try:
        fresh.rename(directory)
    except OSError:
        if not _read_record(directory):
            raise


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
