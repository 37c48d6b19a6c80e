"""Kea: the memfile back end's CSV, and the answer of ``lease4-get-all`` or ``lease6-get-all`` (JSON)."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from metalwright.redfish.discovery.leases.lease import INFINITE_S, Lease, LeaseFile, address_of, mac_of, moment_of

_HELD_STATES = (0, 4)
"""0 assigned, 1 declined, 2 expired and reclaimed, 3 released, 4 registered (an address that a client chose)."""

_PREFIX_DELEGATION = "2"
_ESCAPE = re.compile(r"&#x([0-9a-fA-F]{2})")


def read_memfile(text: str) -> LeaseFile | None:
    """A ``kea-leases4.csv`` or ``kea-leases6.csv``; ``None`` if the text is something else.

    Columns are taken by the names in the first line, since they differ between versions of Kea.
    """
    rows = csv.reader(text.splitlines())
    names = next(rows, [])
    if names[:1] != ["address"] or "valid_lifetime" not in names:
        return None
    entries: list[Lease] = []
    bad: list[str] = []
    for row in rows:
        if not row or row == names:
            continue
        record = dict(zip(names, row, strict=False))
        if record.get("lease_type") == _PREFIX_DELEGATION:
            continue
        try:
            entries.append(_of_row(record))
        except (KeyError, ValueError) as error:
            bad.append(f"line {rows.line_num}: {_why(error)}")
    return LeaseFile("Kea lease file", tuple(entries), tuple(bad))


def _of_row(record: Mapping[str, str]) -> Lease:
    lifetime_s = int(record["valid_lifetime"])
    return Lease(
        address=address_of(record["address"]),
        mac=mac_of(record.get("hwaddr", "")),
        hostname=_unescaped(record.get("hostname", "")) or None,
        expires=None if lifetime_s == INFINITE_S else moment_of(int(record["expire"])),
        is_held=lifetime_s > 0 and int(record.get("state") or 0) in _HELD_STATES,
    )


def read_control_output(text: str) -> LeaseFile | None:
    """What Kea's control socket or control agent answers; ``None`` if the text is something else."""
    try:
        answer: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answers = answer if isinstance(answer, list) else [answer]
    found = [item["arguments"]["leases"] for item in answers if _has_leases(item)]
    if not found:
        return None
    entries: list[Lease] = []
    bad: list[str] = []
    for number, record in enumerate((record for leases in found for record in leases), 1):
        try:
            entries += _of_record(record)
        except (KeyError, TypeError, ValueError) as error:
            bad.append(f"lease {number}: {_why(error)}")
    return LeaseFile("answer of Kea's lease commands", tuple(entries), tuple(bad))


def _has_leases(answer: Any) -> bool:
    arguments = answer.get("arguments") if isinstance(answer, dict) else None
    return isinstance(arguments, dict) and isinstance(arguments.get("leases"), list)


def _of_record(record: Mapping[str, Any]) -> Iterator[Lease]:
    if record.get("type") == "IA_PD":
        return
    lifetime_s = int(record["valid-lft"])
    yield Lease(
        address=address_of(str(record["ip-address"])),
        mac=mac_of(str(record.get("hw-address") or "")),
        hostname=str(record.get("hostname") or "") or None,
        expires=None if lifetime_s == INFINITE_S else moment_of(int(record["cltt"]) + lifetime_s),
        is_held=lifetime_s > 0 and int(record.get("state") or 0) in _HELD_STATES,
    )


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _why(error: Exception) -> str:
    return f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
