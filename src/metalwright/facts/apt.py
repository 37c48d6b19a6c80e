"""Packages of a Debian node: what is installed, and what its sources offer. One command for any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from pyinfra.api import QuoteString, StringCommand
from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.answers import NodeFact
from metalwright.model.package import upstream_versions


class InstalledPackage(TypedDict):
    """``version`` is the whole Debian version; ``is_held``: apt does not change it by itself."""

    version: str
    is_held: bool


class InstalledVersions(NodeFact[dict[str, InstalledPackage]]):
    """Package → what is installed; packages that are not (fully) installed are left out. No answer fails the host."""

    def command(self, packages: Sequence[str]) -> StringCommand:
        """One ``dpkg-query``, which fails for names that it does not know, and a closing line."""
        query = "dpkg-query --show --showformat 'package:${Package}|${db:Status-Abbrev}|${Version}\\n'"
        return StringCommand(query, *map(QuoteString, packages), "2>/dev/null; echo packages-end")

    def process(self, output: list[str]) -> dict[str, InstalledPackage]:
        """``package:NAME|ABBREVIATION|VERSION`` lines; the abbreviation is wanted and found state, as ``hi``."""
        if "packages-end" not in output:
            raise FactProcessError(f"dpkg-query gave no answer: {output[-3:]}")
        rows = [line.removeprefix("package:").split("|") for line in output if line.startswith("package:")]
        return {
            name: {"version": version, "is_held": state[:1] == "h"}
            for name, state, version in rows
            if state[1:2] == "i"
        }


class PackageCandidates(NodeFact[dict[str, tuple[str, ...]]]):
    """Package → versions that the node's sources offer, newest first."""

    def command(self, packages: Sequence[str]) -> StringCommand:
        """``apt-cache madison``, each line marked, and a closing line."""
        names = map(QuoteString, packages)
        return StringCommand("apt-cache madison", *names, "| sed 's/^/candidate:/'; echo candidates-end")

    def process(self, output: list[str]) -> dict[str, tuple[str, ...]]:
        """``candidate: NAME | VERSION | SOURCE`` lines; the same version from two sources counts once."""
        if "candidates-end" not in output:
            raise FactProcessError(f"apt-cache gave no answer: {output[-3:]}")
        found: dict[str, tuple[str, ...]] = {}
        for line in output:
            words = [word.strip() for word in line.removeprefix("candidate:").split("|")]
            if line.startswith("candidate:") and len(words) == 3 and words[1] not in found.get(words[0], ()):
                found[words[0]] = (*found.get(words[0], ()), words[1])
        return found


class PackageFamily(NodeFact[dict[str, bool]]):
    """Installed packages of one upstream version → whether they are held. They go together: a driver's libraries."""

    def command(self, version: str) -> StringCommand:
        """Every installed package; the version is compared here."""
        query = "dpkg-query --show --showformat 'package:${db:Status-Abbrev}|${Package}|${Version}\\n'"
        return StringCommand(query, "; echo", QuoteString(f"family:{version}"))

    def process(self, output: list[str]) -> dict[str, bool]:
        """``package:STATE|NAME|VERSION`` lines and the closing one."""
        versions = [line.removeprefix("family:") for line in output if line.startswith("family:")]
        if not versions:
            raise FactProcessError(f"dpkg-query gave no answer: {output[-3:]}")
        rows = [line.removeprefix("package:").split("|") for line in output if line.startswith("package:")]
        return {
            name: state[:1] == "h"
            for state, name, version in rows
            if state[1:2] == "i" and versions[0] in upstream_versions(version)
        }
