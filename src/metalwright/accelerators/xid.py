"""Errors that NVIDIA's driver writes to the kernel log: Xid of a GPU, SXid of an NVSwitch (pure; table in xid.toml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from metalwright.accelerators.data import rows_of
from metalwright.accelerators.quantities import pci_address
from metalwright.model.base import Frozen

QUERY = "journalctl --dmesg --boot --no-pager --output short-iso"
"""The command whose output :func:`events` reads; ``dmesg`` serves too."""

XidAction = Literal[
    "none", "restart-workload", "reset-gpu", "reseat", "reboot", "power-cycle", "update-software", "replace"
]
Severity = Literal["info", "warning", "critical"]

_LINE = re.compile(
    r"(?P<kind>S?Xid) \((?:PCI:)?(?P<address>[0-9A-Fa-f:.]+)[^)]*\): (?P<code>\d{1,6})(?:, ?(?P<text>[^\n]*))?"
)
_LOST = re.compile(r"NVRM: GPU (?:at )?(?:PCI:)?(?P<address>[0-9A-Fa-f:.]+?)[:.]? .*has fallen off the bus", re.ASCII)
_FALLEN = 79


class XidMeaning(Frozen):
    """What a code means and what to do first. ``source`` documents it; ``is_read``: its entry for the code was read."""

    code: int
    meaning: str
    action: XidAction
    severity: Severity
    source: str
    is_read: bool


class XidEvent(Frozen):
    """One line of the kernel log. ``known`` is ``None`` for a code that the table lacks; it counts all the same."""

    kind: Literal["Xid", "SXid"]
    address: str | None
    code: int
    said: str
    known: XidMeaning | None

    @property
    def severity(self) -> Severity:
        """Of the table; unknown codes are warnings, unless the line itself says that the error is fatal."""
        if self.known is not None:
            return self.known.severity
        words = self.said.lower()
        return "critical" if "fatal" in words and "non-fatal" not in words else "warning"

    @property
    def action(self) -> XidAction:
        """Of the table; unknown codes end as the vendor's case."""
        return self.known.action if self.known is not None else "replace"


@cache
def meanings() -> Mapping[int, XidMeaning]:
    """Every documented code of the table, in order."""
    return {row["code"]: XidMeaning.model_validate(row) for row in rows_of("xid", "xid")}


def events(text: str) -> tuple[XidEvent, ...]:
    """Every Xid and SXid in a kernel log, in order. A GPU that fell off the bus without an Xid counts as Xid 79."""
    return tuple(_events(text))


def _events(text: str) -> Iterator[XidEvent]:
    fallen: set[str | None] = set()
    for line in text.splitlines():
        found = _LINE.search(line)
        if found is not None:
            event = _event(found)
            fallen |= {event.address} if event.code == _FALLEN else set()
            yield event
        elif (lost := _LOST.search(line)) is not None and (address := pci_address(lost["address"])) not in fallen:
            fallen.add(address)
            yield XidEvent(kind="Xid", address=address, code=_FALLEN, said=line[:200], known=meanings().get(_FALLEN))


def _event(found: re.Match[str]) -> XidEvent:
    code, is_gpu = int(found["code"]), found["kind"] == "Xid"
    return XidEvent(
        kind="Xid" if is_gpu else "SXid",
        address=pci_address(found["address"]),
        code=code,
        said=(found["text"] or "").strip()[:200],
        known=meanings().get(code) if is_gpu else None,
    )
