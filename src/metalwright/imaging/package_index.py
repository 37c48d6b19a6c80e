"""The index of a flat package repository: ``Packages`` and a signed ``InRelease``."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from metalwright.imaging.package_signing import PackageKey
from metalwright.imaging.programs import run_program


def write_index(directory: Path, key: PackageKey) -> None:
    """Index every ``.deb`` in ``directory`` and sign the index with ``key``."""
    packages = run_program(["dpkg-scanpackages", "--multiversion", "."], where=str(directory), cwd=directory)
    (directory / "Packages").write_text(packages, encoding="utf-8")
    (directory / "Packages.gz").write_bytes(gzip.compress(packages.encode(), mtime=0))
    release = _release({name: (directory / name).read_bytes() for name in ("Packages", "Packages.gz")})
    (directory / "Release").write_text(release, encoding="utf-8")
    (directory / "InRelease").write_text(key.clear_sign(release), encoding="utf-8")


def _release(files: dict[str, bytes]) -> str:
    """Without ``Valid-Until``: the mirror of an image is as old as the image. The date is fixed, so that a mirror
    with the same packages has the same index."""
    lines = ["Origin: metalwright", "Label: metalwright", "Date: Thu, 01 Jan 2026 00:00:00 UTC", "SHA256:"]
    lines += [f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}" for name, data in files.items()]
    return "\n".join(lines) + "\n"
