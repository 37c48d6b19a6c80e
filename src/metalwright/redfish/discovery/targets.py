"""What to sweep: prefixes, files of them, single hosts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import netaddr

from metalwright.errors import UsageError
from metalwright.redfish.client import origin_of
from metalwright.redfish.places import Place

MAX_TARGETS = 65_536
_HOST = re.compile(r"^[A-Za-z0-9.:_%/\[\]-]+$")


@dataclass(frozen=True, slots=True)
class Target:
    """One place to look at. ``is_named``: somebody wrote this very host, so that silence there is a failure."""

    place: Place
    scheme: str = "https"
    is_named: bool = False

    @property
    def url(self) -> str:
        """The base URL."""
        return self.place.url if self.scheme == "https" else self.place.url.replace("https://", "http://", 1)

    @property
    def key(self) -> str:
        """``host:port``."""
        return str(self.place)


def targets_of(words: Iterable[str], port: int, *, allow_http: bool = False) -> tuple[Target, ...]:
    """Every target once, in the order written. A word is a prefix, a host, ``host:port``, a URL, or a file of such.

    In files, blank lines and what follows ``#`` do not count.

    Raises:
        UsageError: a word that is none of these, http without permission, or more than 65,536 targets.
    """
    found: dict[Place, Target] = {}
    for target in _expanded(words, port, allow_http):
        known = found.get(target.place)
        if known is None or (target.is_named and not known.is_named):
            found[target.place] = target
        if len(found) > MAX_TARGETS:
            raise UsageError(
                "too many addresses to sweep", expected=f"at most {MAX_TARGETS}", hint="name smaller prefixes"
            )
    return tuple(found.values())


def _expanded(words: Iterable[str], port: int, allow_http: bool) -> Iterator[Target]:
    for word in words:
        path = Path(word)
        if "://" not in word and path.is_file():
            yield from _expanded(_lines(path), port, allow_http)
        else:
            yield from _of_word(word, port, allow_http)


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("the file of targets cannot be read", where=str(path), found=str(error)) from error
    return [line for raw in text.splitlines() if (line := raw.partition("#")[0].strip())]


def _of_word(word: str, port: int, allow_http: bool) -> Iterator[Target]:
    if "/" in word and "://" not in word:
        yield from _of_prefix(word, port)
        return
    if not _HOST.match(word):
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
