"""Sticker lists: the CSV in which a maker says which password each unit left the factory with."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from metalwright.errors import InvalidFilesError, LoadingError
from metalwright.loading.files import MAX_FLEET_FILE_BYTES, read_text
from metalwright.model.base import is_filler, normal_mac
from metalwright.secrets.value import Secret

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "serial": ("serial", "serialnumber", "servicetag", "sn"),
    "mac": ("mac", "bmcmac", "macaddress", "bmcmacaddress", "ipmimac"),
    "user": ("user", "username", "login"),
    "password": ("password", "bmcpassword", "defaultpassword", "uniquepassword"),
}
"""The headings that are understood, in any case and with any blanks, dashes or underscores."""

DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Sticker:
    """One unit: what names it (at least one of serial and MAC), and the login on its sticker."""

    serial: str | None
    mac: str | None
    user: str
    password: Secret

    @property
    def keys(self) -> tuple[str, ...]:
        """The names under which the unit is found: ``serial abc123``, ``mac 52:54:00:bc:00:01``."""
        return unit_keys([self.serial] if self.serial else (), [self.mac] if self.mac else ())


def unit_keys(serials: Iterable[str], macs: Iterable[str]) -> tuple[str, ...]:
    """The names of a unit, the MAC first: it is the BMC's own, a serial may be the chassis's."""
    return (*(f"mac {mac}" for mac in macs), *(f"serial {re.sub(r'[^0-9a-z]', '', text.lower())}" for text in serials))


def read_stickers(path: Path, default_user: str | None = None) -> tuple[Sticker, ...]:
    """The stickers of a CSV file with a heading line; comma, semicolon or tab between the columns.

    Raises:
        LoadingError: the file cannot be read, or lacks a column.
        InvalidFilesError: every line that cannot be used, by ``file:line``; no error holds a password.
    """
    text = read_text(path, root=None, max_bytes=MAX_FLEET_FILE_BYTES)
    heading = text.partition("\n")[0]
    rows = csv.reader(text.splitlines(), delimiter=max(DELIMITERS, key=heading.count), strict=True)
    headings = next(rows, [])
    columns = _columns(headings, path, default_user)
    stickers: dict[str, tuple[Sticker, int]] = {}
    good: list[Sticker] = []
    errors: list[LoadingError] = []
    try:
        for row in rows:
            if any(cell.strip() for cell in row):
                try:
                    _check_width(row, len(headings))
                    sticker = _sticker(columns, row, default_user)
                    _check_twice(sticker, stickers, rows.line_num)
                    good.append(sticker)
                except ValueError as error:
                    errors.append(LoadingError(str(error), where=f"{path}:{rows.line_num}"))
    except csv.Error as error:
        errors.append(LoadingError(f"the line is no CSV: {error}", where=f"{path}:{rows.line_num}"))
    if errors:
        raise InvalidFilesError(errors)
    if not good:
        raise LoadingError("the sticker list has no line below its heading", where=str(path))
    return tuple(good)


def _check_width(row: list[str], width: int) -> None:
    """A separator inside a password would cut it: the BMC would get a wrong one, and may lock the account."""
    if any(cell.strip() for cell in row[width:]):
        raise ValueError(
            f'the line has {len(row)} cells under {width} headings; quote a cell that holds the separator ("…")'
        )


def _columns(heading: list[str], path: Path, default_user: str | None) -> dict[str, int]:
    bare = [re.sub(r"[^a-z]", "", name.lower()) for name in heading]
    columns = {
        column: next((index for index, name in enumerate(bare) if name in names), -1)
        for column, names in COLUMNS.items()
    }
    missing = []
    if columns["password"] < 0:
        missing.append("password")
    if columns["serial"] < 0 and columns["mac"] < 0:
        missing.append("serial or mac")
    if columns["user"] < 0 and default_user is None:
        missing.append("user")
    if missing:
        raise LoadingError(
            f"the sticker list has no column {' and no column '.join(missing)}",
            where=f"{path}:1",
            expected="a heading line such as: serial,mac,user,password",
            found=f"{len(heading)} columns with other headings",
            hint="--user NAME gives the user where the list has none" if missing == ["user"] else None,
        )
    return columns


def _sticker(columns: dict[str, int], row: list[str], default_user: str | None) -> Sticker:
    """``ValueError`` for a line that cannot be used; its text holds no cell of the password's column."""
    cells = {name: row[index].strip() if 0 <= index < len(row) else "" for name, index in columns.items()}
    if not cells["password"]:
        raise ValueError("the line has no password")
    user = cells["user"] or default_user
    if not user:
        raise ValueError("the line has no user")
    if not cells["serial"] and not cells["mac"]:
        raise ValueError("the line has neither serial nor MAC")
    if cells["serial"] and is_filler(cells["serial"]):
        raise ValueError(f"the serial {cells['serial']!r} is a filler that many machines have")
    mac = _mac(cells["mac"]) if cells["mac"] else None
    return Sticker(cells["serial"] or None, mac, user, Secret(cells["password"]))


def _mac(text: str) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f:.\-\s]+", text):
        raise ValueError("the MAC column holds something else than a MAC address")
    return normal_mac(text)


def _check_twice(sticker: Sticker, known: dict[str, tuple[Sticker, int]], line: int) -> None:
    for key in sticker.keys:
        other, first = known.setdefault(key, (sticker, line))
        if (other.user, other.password.reveal()) != (sticker.user, sticker.password.reveal()):
            raise ValueError(f"the {key} has another login in line {first}")
