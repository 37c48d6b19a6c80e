"""What voids a certificate: another part in the machine, or another recipe (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from metalwright.model.certificate import Certificate
from metalwright.model.report import Drive, Gpu, HardwareReport, Psu


@dataclass(frozen=True)
class Validity:
    """``void``: why the certificate holds no longer; ``not_compared``: what could not be compared, and why."""

    void: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()


def parts_of(report: HardwareReport) -> dict[str, str]:
    """Part → serial number (MAC address for network ports) of everything in the machine that has one.

    Names are ``system``, ``drive SLOT``, ``gpu SLOT``, ``psu SLOT`` and ``port ADAPTER NAME``; parts without a slot are
    numbered in the order of the report.
    """
    found: dict[str, str | None] = {"system": report.system.serial}
    groups: tuple[tuple[str, Sequence[Drive | Gpu | Psu] | None], ...] = (
        ("drive", report.drives),
        ("gpu", report.gpus),
        ("psu", report.psus),
    )
    for group, items in groups:
        for index, item in enumerate(items or (), start=1):
            found[_free(found, f"{group} {item.slot or index}")] = item.serial
    for number, nic in enumerate(report.nics or (), start=1):
        for index, port in enumerate(nic.ports, start=1):
            found[_free(found, f"port {nic.slot or number} {port.name or index}")] = port.mac
    return {name: serial for name, serial in found.items() if serial}


def _free(taken: Mapping[str, object], name: str) -> str:
    """Two parts of one slot name stay two parts."""
    number = 1
    while (free := name if number == 1 else f"{name} #{number}") in taken:
        number += 1
    return free


def compare(
    certificate: Certificate, *, recipe: str, blueprint: str, report: HardwareReport | None, why_unread: str = ""
) -> Validity:
    """Compare a certificate with what the site wants now and with the machine as its BMC tells it now.

    ``report`` is ``None`` when the machine was not read, for the reason ``why_unread``.
    """
    void = [*_recipe_changes(certificate, recipe, blueprint)]
    if report is None:
        return Validity(tuple(void), (f"parts: {why_unread}",))
    now = parts_of(report)
    silent = tuple(f"parts of the kind {group!r}: the BMC tells none now" for group in _silent(certificate, now))
    return Validity((*void, *changed_parts(certificate.serials, now)), silent)


def _recipe_changes(certificate: Certificate, recipe: str, blueprint: str) -> Iterator[str]:
    if certificate.blueprint is not None and certificate.blueprint != blueprint:
        yield f"blueprint: certified as {certificate.blueprint}, the site wants {blueprint}"
    elif certificate.recipe != recipe:
        yield (
            f"recipe: certified with {certificate.recipe}, the site wants {recipe} "
            "(deploys, templates, addresses or the tool's version changed)"
        )


def changed_parts(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """What is another part, gone or new; kinds of parts of which one side tells nothing are left out."""
    comparable = {_group(name) for name in before} & {_group(name) for name in now}
    changes = []
    for name in sorted(before.keys() | now.keys()):
        if _group(name) in comparable and before.get(name) != now.get(name):
            changes.append(_change(name, before.get(name), now.get(name)))
    return tuple(changes)


def _change(name: str, before: str | None, now: str | None) -> str:
    if before is None:
        return f"part: {name} is new ({now})"
    return f"part: {name} is gone ({before})" if now is None else f"part: {name} was {before}, is {now}"


def _silent(certificate: Certificate, now: Mapping[str, str]) -> Sequence[str]:
    return sorted({_group(name) for name in certificate.serials} - {_group(name) for name in now})


def _group(name: str) -> str:
    return name.partition(" ")[0]
