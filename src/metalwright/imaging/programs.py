"""Running the programs that images and media are made with."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from metalwright.errors import ImageError

_PACKAGES: Final = {
    "mmdebstrap": "mmdebstrap",
    "objcopy": "binutils",
    "mformat": "mtools",
    "mcopy": "mtools",
    "mdir": "mtools",
    "qemu-img": "qemu-utils",
    "xorriso": "xorriso",
    "zstd": "zstd",
    "sfdisk": "fdisk",
    "mkfs.ext4": "e2fsprogs",
    "dpkg-scanpackages": "dpkg-dev",
    "gpg": "gpg",
    "gpgconf": "gpgconf",
}
_SBIN: Final = "/usr/local/sbin:/usr/sbin:/sbin"


def run_program(
    argv: Sequence[str], *, where: str, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None,
    good_codes: frozenset[int] = frozenset({0}),
) -> str:  # fmt: skip
    """Run ``argv`` and return its standard output; ``good_codes`` are the exit codes that are no failure.

    Raises :class:`ImageError` when the program is missing (with the package to install) or fails (with its last words).
    """
    program = require_program(argv[0])
    result = subprocess.run(
        [program, *argv[1:]],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=env,
        cwd=cwd,
    )
    if result.returncode not in good_codes:
        raise ImageError(
            f"{argv[0]} failed", where=where, expected="exit code 0",
            found=f"{result.returncode}: {(result.stderr or result.stdout).strip()[-2000:]}",
        )  # fmt: skip
    return result.stdout


def require_program(name: str) -> str:
    """Return the program's path; :class:`ImageError` names the Debian package that has it."""
    path = shutil.which(name) or shutil.which(name, path=_SBIN)
    if path is None:
        raise ImageError(f"the program {name} is not installed", hint=f"apt-get install {_PACKAGES.get(name, name)}")
    return path
