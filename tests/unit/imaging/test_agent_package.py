"""The agent is a package of its own: standard library only, and every module it wants is in the ramdisk."""

from __future__ import annotations

import ast
import sys
from importlib import resources
from pathlib import Path

import metalwright.imaging.agent

SOURCES = sorted(Path(metalwright.imaging.agent.__file__).parent.glob("*.py"))
RAMDISK = resources.files("metalwright.imaging") / "data" / "ramdisk"


def imported_modules() -> set[str]:
    names: set[str] = set()
    for source in SOURCES:
        for statement in ast.walk(ast.parse(source.read_text())):
            if isinstance(statement, ast.Import):
                names |= {alias.name for alias in statement.names}
            elif isinstance(statement, ast.ImportFrom):
                names.add(str(statement.module))
    return names


def listed(name: str) -> set[str]:
    lines = (RAMDISK / name).read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def test_agent_imports_only_the_standard_library_and_itself() -> None:
    others = {name for name in imported_modules() if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name.rpartition(".")[0] for name in others} == {"metalwright.imaging.agent"}


def test_ramdisk_carries_every_standard_module_that_the_agent_imports() -> None:
    standard = {name for name in imported_modules() if not name.startswith("metalwright.")}
    assert standard <= listed("python-modules.txt")


def test_ramdisk_carries_every_program_that_the_agent_runs() -> None:
    carried = {Path(path).name for path in listed("programs.txt")}
    assert {"zstd", "sfdisk", "blkid", "e2fsck", "resize2fs", "mount", "umount", "chroot"} <= carried
