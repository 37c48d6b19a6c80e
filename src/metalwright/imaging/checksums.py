"""Checksum files as people publish them: GNU, BSD, a bare digest, any of them inside an OpenPGP signature.

Pure. The OpenPGP signature itself is not judged here: who trusts it checks it with gpg before.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from metalwright.errors import ImageError

_DIGITS: Final = {"sha256": 64, "sha512": 128}
_TOO_WEAK: Final = {32: "MD5", 40: "SHA-1"}
_GNU: Final = re.compile(r"\\?([0-9A-Fa-f]+) [ *](.+)")
_BSD: Final = re.compile(r"(SHA256|SHA512|SHA1|MD5) ?\((.+)\) ?= ?([0-9A-Fa-f]+)")
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]*")
_SIGNED: Final = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE: Final = "-----BEGIN PGP SIGNATURE-----"
_NAMES_SHOWN: Final = 8


class Checksum(NamedTuple):
    """A digest that somebody published: ``sha256`` or ``sha512``, and lower-case hexadecimal."""

    algorithm: str
    digest: str

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}"


class _Line(NamedTuple):
    number: int
    name: str | None
    digits: str


def parse_checksum(text: str, where: str) -> Checksum:
    """A digest as people write it: hexadecimal, in any letter case, with or without ``sha256:`` or ``sha512:`` before.

    Raises:
        ImageError: empty, not hexadecimal, or of another length.
    """
    bare = text.strip().lower()
    named, _, rest = bare.partition(":")
    algorithm, digits = (named, rest) if named in _DIGITS else ("", bare)
    if not digits:
        raise ImageError(
            "the digest is empty", where=where, expected="64 or 128 hexadecimal digits", found=repr(text),
            hint="no digest is no check: nothing is taken without one",
        )  # fmt: skip
    found = algorithm or next((name for name, length in _DIGITS.items() if len(digits) == length), "")
    if not _HEXADECIMAL.fullmatch(digits) or len(digits) != _DIGITS.get(found):
        expected = f"{_DIGITS[algorithm]}" if algorithm else "64 (SHA-256) or 128 (SHA-512)"
        raise ImageError(
            "this is no digest", where=where, expected=f"{expected} hexadecimal digits",
            found=f"{len(digits)} characters: {text.strip()[:140]}",
            hint="copy the whole digest; a file or URL with digests goes to --checksums",
        )  # fmt: skip
    return Checksum(found, digits)


def find_checksum(text: str, file_name: str, where: str) -> Checksum:
    """The checksum of ``file_name`` in a published file; the strongest one where there are several kinds.

    Raises:
        ImageError: no checksum file, no line of that name, two that differ, or only MD5 and SHA-1.
    """
    if text.lstrip()[:1] == "<":
        raise ImageError(
            "this is an HTML or XML page, no checksum file", where=where, found=text.strip()[:60],
            hint="open the address in a browser; the page often says where the file went",
        )  # fmt: skip
    lines = _lines(_unsigned(text))
    if not lines:
        raise ImageError(
            "this is no checksum file", where=where, found=text.strip()[:60] or "an empty file",
            expected="lines such as `DIGEST  NAME`, `SHA256 (NAME) = DIGEST`, or a digest alone",
            hint="publishers call it SHA256SUMS, SHA512SUMS or CHECKSUM",
        )  # fmt: skip
    return _choose(_lines_of(lines, file_name, where), file_name, where)


def _lines_of(lines: list[_Line], file_name: str, where: str) -> list[_Line]:
    named = [line for line in lines if line.name is not None]
    if not named:
        return lines
    found = [line for line in named if (line.name or "").rpartition("/")[2] == file_name]
    if found:
        return found
    names = sorted({line.name or "" for line in named})
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    raise ImageError(
        f"the checksum file does not name {file_name}", where=where, expected=f"a line for {file_name}",
        found=", ".join(names[:_NAMES_SHOWN]) + more,
        hint="is it the checksum file of this release? a file under another name: --checksum-name NAME",
    )  # fmt: skip


def _choose(lines: list[_Line], file_name: str, where: str) -> Checksum:
    for algorithm, length in reversed(_DIGITS.items()):
        digests = {line.digits.lower() for line in lines if len(line.digits) == length}
        if len(digests) > 1:
            numbers = ", ".join(str(line.number) for line in lines if len(line.digits) == length)
            raise ImageError(
                f"the checksum file says two things about {file_name}", where=where, expected="one digest",
                found=f"lines {numbers} differ",
                hint="ask the publisher, or give the digest that you trust: --sha256 DIGEST",
            )  # fmt: skip
        if digests:
            return Checksum(algorithm, digests.pop())
    found = ", ".join(_TOO_WEAK.get(len(line.digits), f"{len(line.digits)} digits") for line in lines)
    raise ImageError(
        f"the checksum file has no SHA-256 or SHA-512 of {file_name}", where=where, found=found,
        hint="most publishers have SHA256SUMS or SHA512SUMS beside the file with MD5 or SHA-1",
    )  # fmt: skip


def _lines(text: str) -> list[_Line]:
    found = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if match := _BSD.fullmatch(line):
            found.append(_Line(number, match[2], match[3]))
        elif match := _GNU.fullmatch(line):
            found.append(_Line(number, match[2].strip(), match[1]))
        elif len(line) in _DIGITS.values() and _HEXADECIMAL.fullmatch(line.lower()):
            found.append(_Line(number, None, line))
    return found


def _unsigned(text: str) -> str:
    """The text inside an OpenPGP clear signature, with its numbers of lines; other text as it is."""
    before, begin, rest = text.replace("\r\n", "\n").partition(_SIGNED)
    if not begin:
        return text
    header, _, body = rest.partition("\n\n")
    skipped = "\n" * (before.count("\n") + header.count("\n") + 2)
    message = body.partition(_SIGNATURE)[0]
    return skipped + "\n".join(line.removeprefix("- ") for line in message.split("\n"))
