"""Where Debian packages come from: the mirrors that this machine's own apt is configured with."""

from __future__ import annotations

import subprocess
from typing import Final

from metalwright.errors import ImageError

_FORMAT: Final = "$(ORIGIN)|$(CODENAME)|$(REPO_URI)|$(COMPONENT)"
_EXTRA_COMPONENTS: Final = ("non-free-firmware",)


def read_apt_sources(suite: str) -> tuple[str, ...]:
    """Return ``deb`` lines for Debian ``suite``, its updates and its security updates, from this machine's apt.

    Raises :class:`ImageError` when apt is not here or knows no mirror of that suite.
    """
    argv = ["apt-get", "indextargets", "--format", _FORMAT, "Created-By: Packages"]
    try:
        listing = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise ImageError(
            "apt cannot say where packages come from", found=str(error), hint="give mirrors with --mirror 'deb URL …'"
        ) from error
    sources = parse_index_targets(listing, suite)
    if not sources:
        raise ImageError(
            f"this machine's apt has no mirror of Debian {suite}",
            expected=f"a Debian source for {suite}",
            hint="run apt-get update, or give mirrors with --mirror 'deb URL SUITE COMPONENT'",
        )
    return sources


def parse_index_targets(listing: str, suite: str) -> tuple[str, ...]:
    """Return the ``deb`` lines in the output of ``apt-get indextargets``."""
    wanted = (suite, f"{suite}-updates", f"{suite}-security")
    rows = {tuple(line.split("|")) for line in listing.splitlines() if line.count("|") == _FORMAT.count("|")}
    return tuple(
        f"deb {uri} {codename} {component}"
        for codename in wanted
        for origin, found, uri, component in sorted(rows)
        if origin == "Debian" and found == codename and component in ("main", *_EXTRA_COMPONENTS)
    )


def read_apt_proxy_options() -> tuple[str, ...]:
    """Return this machine's apt proxy settings as ``mmdebstrap --aptopt`` values."""
    result = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines() if result.returncode == 0 else []
    return tuple(line for line in lines if "::proxy" in line.lower() and not line.rstrip().endswith('"";'))
