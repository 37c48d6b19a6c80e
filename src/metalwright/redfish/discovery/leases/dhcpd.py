"""ISC dhcpd: ``lease ADDRESS { … }`` blocks, and ``iaaddr`` blocks of its IPv6 server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from metalwright.redfish.discovery.leases.lease import Lease, LeaseFile, address_of, mac_of, moment_of

_BLOCK = re.compile(r"^\s*(?:lease|iaaddr)\s+([0-9a-fA-F.:]+)\s*\{", re.MULTILINE)
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|#[^\n]*')
_STATEMENT = re.compile(r'\s*((?:"(?:[^"\\]|\\.)*"|[^;{}"])*)([;{}])')
_HELD_STATES = ("active", "bootp")


def read_dhcpd(text: str) -> LeaseFile | None:
    """A ``dhcpd.leases``; ``None`` if the text is something else. A block that the end of the file cuts is bad."""
    plain = _COMMENT.sub(lambda match: match[1] or "", text)
    blocks = list(_BLOCK.finditer(plain))
    if not blocks:
        return None
    entries: list[Lease] = []
    bad: list[str] = []
    for block in blocks:
        try:
            entries.append(_of_block(block[1], dict(_statements(plain, block.end()))))
        except ValueError as error:
            bad.append(f"line {plain.count(chr(10), 0, block.start(1)) + 1}: {error}")
    return LeaseFile("ISC dhcpd lease file", tuple(entries), tuple(bad))


def _statements(text: str, position: int) -> Iterator[tuple[str, str]]:
    """The statements of one block as (keyword, rest); blocks inside it are passed over."""
    depth = 0
    while match := _STATEMENT.match(text, position):
        position = match.end()
        if match[2] == "{":
            depth += 1
        elif match[2] == "}":
            if depth == 0:
                return
            depth -= 1
        elif depth == 0:
            words = match[1].split(maxsplit=2)
            is_pair = " ".join(words[:2]) in ("binding state", "hardware ethernet")
            yield " ".join(words[:2]) if is_pair else words[0] if words else "", " ".join(words[2 if is_pair else 1 :])
    raise ValueError("the block does not end")


def _of_block(address: str, said: dict[str, str]) -> Lease:
    return Lease(
        address=address_of(address),
        mac=mac_of(said.get("hardware ethernet", "")),
        hostname=said.get("client-hostname", "").strip('"') or None,
        expires=_moment(said["ends"]) if "ends" in said else None,
        is_held=said.get("binding state", "active") in _HELD_STATES,
    )


def _moment(text: str) -> datetime | None:
    """``never``, ``epoch SECONDS``, or ``WEEKDAY YYYY/MM/DD HH:MM:SS`` in UTC."""
    words = text.split()
    if words == ["never"]:
        return None
    if words[:1] == ["epoch"] and len(words) > 1:
        return moment_of(int(words[1]))
    try:
        return datetime.strptime(" ".join(words[1:3]), "%Y/%m/%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f"ends {text!r} is not a time") from None
