"""A package repository of stand-ins: small packages with the real names, versions, relations and units."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

UNIT = """[Unit]
Description={name} (stand-in)
[Service]
ExecStart={command}
[Install]
WantedBy=multi-user.target
"""
LASTING = "/bin/sleep infinity"


def build_package(
    directory: Path,
    name: str,
    version: str,
    *,
    unit: str | None = None,
    command: str = LASTING,
    depends: str = "",
    files: Mapping[str, str] | None = None,
    scripts: Mapping[str, str] | None = None,
) -> Path:
    """``directory/<name>_<version>.deb`` with these files (path → text) and a unit that runs ``command``."""
    root = directory / f".{name}-{version}"
    content = {**(files or {}), f"/usr/share/doc/{name}/stand-in": f"{name} {version}\n"}
    if unit is not None:
        content[f"/lib/systemd/system/{unit}"] = UNIT.format(name=name, command=command)
    for path, text in content.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        target.chmod(0o755 if "/bin/" in path or "/sbin/" in path else 0o644)
    control = {
        "Package": name, "Version": version, "Architecture": "all", "Maintainer": "tests <tests@lab.test>",
        **({"Depends": depends} if depends else {}), "Description": "a stand-in",
    }  # fmt: skip
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in control.items()))
    for script, text in (scripts or {}).items():
        (root / "DEBIAN" / script).write_text(f"#!/bin/sh\n{text}\n")
        (root / "DEBIAN" / script).chmod(0o755)
    made = directory / f"{name}_{version.replace(':', '%3a')}.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(made)], check=True, capture_output=True
    )
    return made


def index_repository(directory: Path, **release: str) -> None:
    """Write ``Packages`` and ``Release`` over the packages of ``directory``; ``release`` are fields such as Origin."""
    command = ["dpkg-scanpackages", "--multiversion", "."]
    packages = subprocess.run(command, cwd=directory, check=True, capture_output=True).stdout
    (directory / "Packages").write_bytes(packages)
    fields = {"Origin": "stand-in", "Label": "stand-in", "Date": "Thu, 01 Jan 2026 00:00:00 UTC", **release}
    lines = [f"{key}: {value}" for key, value in fields.items()]
    lines += ["SHA256:", f" {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages"]
    (directory / "Release").write_text("\n".join(lines) + "\n")
