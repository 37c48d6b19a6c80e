"""apt with a state of its own: other sources and other installed packages than this machine's, no root needed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from metalwright.imaging.apt_sources import read_apt_proxy_options
from metalwright.imaging.programs import run_program

_INSTALLS = re.compile(r"^Inst (\S+) (?:\[\S+\] )?\((\S+) ", re.MULTILINE)
"""A line of ``apt-get --simulate``: ``Inst NAME [OLD VERSION] (VERSION SOURCE [ARCHITECTURE])``."""


class PrivateApt:
    """Reads the package lists of ``sources`` (lines of sources.list) into ``root``, an absent directory.

    Every method raises :class:`ImageError` with apt's own words.
    """

    def __init__(self, root: Path, sources: Sequence[str], architecture: str) -> None:
        for part in ("state/lists/partial", "cache/archives/partial", "etc/parts"):
            (root / part).mkdir(parents=True)
        (root / "etc/sources.list").write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
        (root / "etc/proxy.conf").write_text(
            "".join(f"{line}\n" for line in read_apt_proxy_options()), encoding="utf-8"
        )
        self._status = root / "state/status"
        self._status.write_text("", encoding="utf-8")
        settings = {
            "Dir::State": root / "state",
            "Dir::State::status": self._status,
            "Dir::Cache": root / "cache",
            "Dir::Etc::SourceList": root / "etc/sources.list",
            "Dir::Etc::SourceParts": root / "etc/parts",
            "Dir::Etc::Preferences": root / "etc/no-preferences",
            "Dir::Etc::PreferencesParts": root / "etc/parts",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Sandbox::User": "",
            "APT::Update::Error-Mode": "any",
            "Debug::NoLocking": "true",
        }
        self._options = [f"--config-file={root / 'etc/proxy.conf'}"]
        self._options += [f"--option={name}={value}" for name, value in settings.items()]
        run_program(["apt-get", *self._options, "--quiet", "update"], where="package sources")

    def candidates(self, package: str) -> tuple[str, ...]:
        """Versions on offer, newest first."""
        text = run_program(["apt-cache", *self._options, "madison", package], where=package)
        lines = [line.split("|") for line in text.splitlines() if line.count("|") >= 2]
        return tuple(dict.fromkeys(line[1].strip() for line in lines))

    def pretend_installed(self, versions: Mapping[str, str]) -> None:
        """Take these packages (name → version) for installed, as far as the sources still know their versions."""
        if not versions:
            return
        text = run_program(["apt-cache", *self._options, "show", *sorted(versions)], where="packages of the image")
        known = [(_fields(stanza), stanza) for stanza in text.split("\n\n") if stanza.strip()]
        kept = [stanza for fields, stanza in known if versions.get(fields["Package"]) == fields["Version"]]
        self._status.write_text("".join(f"Status: install ok installed\n{stanza.strip()}\n\n" for stanza in kept))

    def fetch(self, packages: Sequence[str], into: Path) -> None:
        """Fetch just these packages at their newest version, as ``.deb`` files, into ``into``."""
        argv = ["apt-get", *self._options, "--quiet", "download", *packages]
        run_program(argv, where=", ".join(packages), cwd=into)

    def download(self, versions: Mapping[str, str], into: Path) -> None:
        """Fetch these packages and what they need, as far as it is not installed, as ``.deb`` files into ``into``."""
        wanted = [f"{name}={version}" for name, version in versions.items()]
        argv = ["apt-get", *self._options, "--quiet", "--no-install-recommends", "--simulate", "install", *wanted]
        plan = run_program(argv, where=", ".join(wanted))
        needed = [f"{name}={version}" for name, version in _INSTALLS.findall(plan)]
        if needed:
            run_program(["apt-get", *self._options, "--quiet", "download", *needed], where=", ".join(needed), cwd=into)


def _fields(stanza: str) -> dict[str, str]:
    """The one-line fields of a control stanza."""
    pairs = (line.partition(": ") for line in stanza.splitlines() if not line.startswith(" "))
    return {name: value for name, _, value in pairs}
