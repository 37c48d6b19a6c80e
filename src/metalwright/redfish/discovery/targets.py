"""What to sweep: prefixes, single hosts, files of them, and DHCP lease files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import netaddr

from metalwright.errors import UsageError
from metalwright.loading.files import MAX_FLEET_FILE_BYTES, read_text
from metalwright.redfish.client import origin_of
from metalwright.redfish.discovery.leases import LeaseFile, read_leases
from metalwright.redfish.discovery.leases.recognition import KINDS
from metalwright.redfish.places import Place

MAX_TARGETS = 65_536
MAX_BAD_LINES_TOLD = 5
_LONGEST_WORD = 280
"""A DNS name has at most 253 characters; a scheme and a port may stand around it."""

_FILE_ENDINGS = (".csv", ".txt", ".json", ".yaml", ".leases", ".log")
"""No top-level domain of the Internet: a word that ends so is a file that is not there, not a host to ask for."""

_HOST = re.compile(r"^[A-Za-z0-9.:_%/\[\]-]+$")


@dataclass(frozen=True, slots=True)
class Target:
    """One place to look at. ``is_named``: somebody wrote this very host, so that silence there is a failure.

    ``mac`` and ``hostname`` are what the DHCP server knows of whoever has the address.
    """

    place: Place
    scheme: str = "https"
    is_named: bool = False
    mac: str | None = None
    hostname: str | None = None

    @property
    def url(self) -> str:
        """The base URL."""
        return self.place.url if self.scheme == "https" else self.place.url.replace("https://", "http://", 1)

    @property
    def key(self) -> str:
        """``host:port``."""
        return str(self.place)


@dataclass(frozen=True)
class TargetList:
    """Every target once, and what a person should know of the files that they came from."""

    targets: tuple[Target, ...]
    notes: tuple[str, ...] = ()


def targets_of(
    words: Iterable[str], port: int, now: datetime, *, lease_files: Iterable[Path] = (), allow_http: bool = False
) -> TargetList:
    """Every target once, in the order written. A word is a prefix, a host, ``host:port``, a URL, or a file.

    A file holds such words (blank lines and what follows ``#`` do not count), or is a DHCP lease file, which is seen
    in its text. Of ``lease_files`` each must be one. Leases that do not hold at ``now`` are left out.

    Raises:
        UsageError: a word that is none of these, http without permission, or more than 65,536 targets.
    """
    reading = _Reading(port, now, allow_http)
    for path in lease_files:
        reading.lease_file(path)
    for word in words:
        reading.word(word)
    return TargetList(tuple(reading.found.values()), tuple(reading.notes))


@dataclass
class _Reading:
    port: int
    now: datetime
    allow_http: bool
    found: dict[Place, Target] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    opened: list[Path] = field(default_factory=list)

    def word(self, word: str) -> None:
        path = Path(word)
        if "://" in word or not _is_file(path):
            self._take(_of_word(word, self.port, self.allow_http))
            return
        self._file(path)

    def _file(self, path: Path) -> None:
        """A lease file, or words line by line, which may name files again."""
        if path in self.opened:
            raise UsageError("the file of targets names itself", where=str(path), hint="remove that line")
        text = _text(path)
        leases = read_leases(text)
        if leases is not None:
            self._leases(path, leases)
            return
        self.opened.append(path)
        lines = [(number, raw.partition("#")[0].strip()) for number, raw in enumerate(text.splitlines(), start=1)]
        if not any(line for _, line in lines):
            expected = "a prefix, HOST, HOST:PORT or a file a line, or a lease file"
            raise UsageError("no target stands in this file", where=str(path), expected=expected)
        for number, line in lines:
            if line:
                self._line(line, f"{path}:{number}")
        self.opened.remove(path)

    def _line(self, line: str, where: str) -> None:
        """One line of a file; an error names the line, and the file that names the file."""
        try:
            self.word(line)
        except UsageError as error:
            raise UsageError(
                error.what, where=f"{where}: {error.where}", expected=error.expected, found=error.found, hint=error.hint
            ) from error

    def lease_file(self, path: Path) -> None:
        leases = read_leases(_text(path))
        if leases is None:
            raise UsageError("this is no lease file that metalwright knows", where=str(path), expected=KINDS)
        self._leases(path, leases)

    def _leases(self, path: Path, leases: LeaseFile) -> None:
        self.notes.append(f"{path}: {leases.summary(self.now)}")
        self.notes += [f"{path}: {line}" for line in leases.bad[:MAX_BAD_LINES_TOLD]]
        if len(leases.bad) > MAX_BAD_LINES_TOLD:
            self.notes.append(f"{path}: {len(leases.bad) - MAX_BAD_LINES_TOLD} more lines cannot be read")
        self._take(
            Target(Place(lease.address, self.port), mac=lease.mac, hostname=lease.hostname)
            for lease in leases.valid_at(self.now)
        )

    def _take(self, targets: Iterable[Target]) -> None:
        for target in targets:
            known = self.found.get(target.place)
            self.found[target.place] = target if known is None else _merged(known, target)
            if len(self.found) > MAX_TARGETS:
                raise UsageError(
                    "too many addresses to sweep", expected=f"at most {MAX_TARGETS}", hint="name smaller prefixes"
                )


def _merged(known: Target, other: Target) -> Target:
    """One place from two sources: named if either names it, with what DHCP knows."""
    best = other if other.is_named and not known.is_named else known
    return replace(best, mac=known.mac or other.mac, hostname=known.hostname or other.hostname)


def _is_file(path: Path) -> bool:
    """Whether there is such a file; words that no path can be are none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    return read_text(path, root=None, max_bytes=MAX_FLEET_FILE_BYTES)


def _of_word(word: str, port: int, allow_http: bool) -> Iterator[Target]:
    if "@" in word:
        hint = "leave it out and export METALWRIGHT_BMC_USER and METALWRIGHT_BMC_PASSWORD, or import a list of stickers"
        shown = word.rpartition("@")[2]
        raise UsageError("a login does not belong into an address", where=shown, expected="HOST[:PORT]", hint=hint)
    if "/" in word and "://" not in word:
        yield from _of_prefix(word, port)
        return
    if word.lower().endswith(_FILE_ENDINGS):
        raise UsageError("no such file", where=word, expected="a file of targets, a prefix, HOST or HOST:PORT")
    if not _HOST.match(word) or len(word) > _LONGEST_WORD:
        raise UsageError("neither a host, a prefix nor a file", where=word, expected="HOST, HOST:PORT or a prefix")
    bare = f"[{word}]" if "://" not in word and word.count(":") > 1 and not word.startswith("[") else word
    origin = origin_of(bare, allow_http=allow_http)
    has_port = urlsplit(bare if "://" in bare else f"https://{bare}").port is not None
    yield Target(Place(origin.host, origin.port if has_port else port), origin.scheme, is_named=True)


def _of_prefix(word: str, port: int) -> Iterator[Target]:
    try:
        network = netaddr.IPNetwork(word)
    except (netaddr.AddrFormatError, ValueError) as error:
        raise UsageError("neither a prefix nor a file", where=word, expected="for example 10.20.0.0/24") from error
    if network.size > MAX_TARGETS:
        raise UsageError("the prefix is too large to sweep", where=word, expected=f"at most {MAX_TARGETS} addresses")
    for address in network.iter_hosts():
        yield Target(Place(str(address), port))
