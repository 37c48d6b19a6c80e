"""``addresses.lock`` and ``known-good.lock`` as text, and back without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.files import write_atomically
from metalwright.loading.lines import LockFormat, LockLine
from metalwright.loading.models import remember
from metalwright.model.addresses import AddressLock, Allocation, KnownGood, KnownGoodLock
from metalwright.model.base import address_order
from metalwright.model.digests import canonical_json

ADDRESSES = LockFormat("addresses.lock", "metalwright addresses allocate")
KNOWN_GOOD = LockFormat("known-good.lock", "metalwright provision")


def render_addresses(lock: AddressLock) -> str:
    """The text of ``addresses.lock``."""
    ordered = sorted(lock.allocations, key=lambda item: address_order(item.address))
    return ADDRESSES.render(_allocation_line(item) for item in ordered)


def _allocation_line(item: Allocation) -> str:
    line = f"{item.address} {item.network} {item.node}"
    return line if item.freed is None else f"{line} freed={item.freed.isoformat()}"


def parse_addresses(text: str, path: Path) -> AddressLock:
    """The allocations of a lock file's text.

    Raises:
        InvalidFilesError: damaged text, lines out of order, an address twice.
    """
    return _address_lock(ADDRESSES.parse(text, path))


def read_addresses(path: Path, *, root: Path) -> AddressLock:
    """The allocations of a lock file; none when there is no file yet.

    Raises:
        InvalidFilesError: as ``parse_addresses``.
    """
    text = ADDRESSES.read_text(path, root=root)
    return AddressLock() if text is None else remember(AddressLock, text, lambda: parse_addresses(text, path))


def write_addresses(path: Path, lock: AddressLock) -> None:
    """Write ``addresses.lock``, all or nothing."""
    write_atomically(path, render_addresses(lock))


def _address_lock(lines: Iterable[LockLine]) -> AddressLock:
    parsed = [_parsed(line, _allocation) for line in lines]
    _raise_errors(parsed)
    allocations = tuple(item for item in parsed if isinstance(item, Allocation))
    _raise_errors(_order_errors(lines, [address_order(item.address) for item in allocations], "address"))
    return AddressLock(allocations=allocations)


def _allocation(words: tuple[str, ...]) -> Allocation:
    if len(words) not in (3, 4) or (len(words) == 4 and not words[3].startswith("freed=")):
        raise ValueError("expected: ADDRESS NETWORK NODE [freed=DATE]")
    freed = words[3].removeprefix("freed=") if len(words) == 4 else None
    return Allocation.model_validate({"address": words[0], "network": words[1], "node": words[2], "freed": freed})


def render_known_good(lock: KnownGoodLock) -> str:
    """The text of ``known-good.lock``."""
    return KNOWN_GOOD.render(_known_good_line(item) for item in sorted(lock.nodes, key=lambda item: item.node))


def _known_good_line(item: KnownGood) -> str:
    # JSON blanks are escaped, so that words stay separated by single blanks.
    rest = canonical_json(item.model_dump(mode="json", exclude={"node"})).decode()
    return f"{item.node} {rest.replace(' ', chr(92) + 'u0020')}"


def parse_known_good(text: str, path: Path) -> KnownGoodLock:
    """The tuples of a lock file's text.

    Raises:
        InvalidFilesError: damaged text, lines out of order, a node twice.
    """
    return _known_good_lock(KNOWN_GOOD.parse(text, path))


def read_known_good(path: Path, *, root: Path) -> KnownGoodLock:
    """The tuples of a lock file; none when there is no file yet.

    Raises:
        InvalidFilesError: as ``parse_known_good``.
    """
    return _known_good_lock(KNOWN_GOOD.read(path, root=root))


def write_known_good(path: Path, lock: KnownGoodLock) -> None:
    """Write ``known-good.lock``, all or nothing."""
    write_atomically(path, render_known_good(lock))


def _known_good_lock(lines: Iterable[LockLine]) -> KnownGoodLock:
    parsed = [_parsed(line, _known_good) for line in lines]
    _raise_errors(parsed)
    nodes = tuple(item for item in parsed if isinstance(item, KnownGood))
    _raise_errors(_order_errors(lines, [item.node for item in nodes], "node"))
    return KnownGoodLock(nodes=nodes)


def _known_good(words: tuple[str, ...]) -> KnownGood:
    if len(words) != 2:
        raise ValueError("expected: NODE JSON")
    record: Any = json.loads(words[1])
    if not isinstance(record, dict):
        raise ValueError("expected: NODE JSON")
    return KnownGood.model_validate({**record, "node": words[0]})


def _parsed(line: LockLine, parse: Any) -> Allocation | KnownGood | LoadingError:
    try:
        parsed: Allocation | KnownGood = parse(line.words)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return LoadingError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", where=line.where)
    except (ValueError, RecursionError) as error:
        return LoadingError("unreadable record", where=line.where, found=" ".join(line.words)[:80], expected=str(error))
    return parsed


def _order_errors(lines: Iterable[LockLine], keys: list[Any], noun: str) -> list[LoadingError]:
    errors = []
    places = list(lines)
    for index in range(1, len(keys)):
        if keys[index] == keys[index - 1]:
            errors.append(
                LoadingError(
                    f"the {noun} is recorded twice",
                    where=places[index].where,
                    found=f"{' '.join(places[index - 1].words)[:60]} and {' '.join(places[index].words)[:60]}",
                    hint="two branches gave it away; keep the line of the one that was applied",
                )
            )
        elif keys[index] < keys[index - 1]:
            errors.append(
                LoadingError("the line is out of order", where=places[index].where, expected=f"lines sorted by {noun}")
            )
    return errors


def _raise_errors(items: Iterable[Any]) -> None:
    errors = [item for item in items if isinstance(item, LoadingError)]
    if errors:
        raise InvalidFilesError(errors)
