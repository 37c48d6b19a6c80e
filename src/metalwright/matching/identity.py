"""Whether the machine that answers is the node that the inventory declares. Pure."""

from __future__ import annotations

from metalwright.matching.names import is_same_maker
from metalwright.model.base import is_filler, uuid_forms
from metalwright.model.finding import Finding
from metalwright.model.rack import IdentityKey, Racked
from metalwright.model.report import HardwareReport


def identity_matches(node: Racked, report: HardwareReport) -> list[Finding]:
    """Findings of the identity keys that the node declares. Only an empty list is agreement.

    A key that differs is FAIL; a key that the BMC does not give is DEFERRED (to the ramdisk), never agreement.
    UUIDs are compared in both byte orders, serial numbers without regard to case.
    """
    findings = (key_finding(node, key, report) for key in node.identity)
    return [finding for finding in findings if finding is not None]


def agreeing_keys(node: Racked, report: HardwareReport) -> tuple[IdentityKey, ...]:
    """The declared keys that agree."""
    return tuple(key for key in node.identity if key_finding(node, key, report) is None)


def key_finding(node: Racked, key: IdentityKey, report: HardwareReport) -> Finding | None:
    """The finding of one key, ``None`` if it agrees."""
    expected = getattr(node, key)
    found = found_of_key(key, report)
    if any(_is_same(key, expected, value) for value in found):
        return None
    return Finding(
        code=f"identity-{key}",
        verdict="FAIL" if found else "DEFERRED",
        slot=key,
        expected=str(expected),
        found=", ".join(found) if found else "not given by the BMC",
        source=source_of(report),
        hint=_hint(key, bool(found)),
    )


def serials_of(report: HardwareReport) -> tuple[str, ...]:
    """Every serial number that a sticker of this machine may carry.

    The system's own, the chassis's (the box and its board differ on DGX), and on Dell the service tag, which iDRAC
    reports as SKU and SMBIOS as the system serial.
    """
    system, chassis = report.system, report.chassis
    is_dell = system.manufacturer is not None and is_same_maker("Dell", system.manufacturer)
    candidates = (system.serial, system.sku if is_dell else None, chassis.serial)
    return tuple(dict.fromkeys(serial for serial in candidates if serial is not None and not is_filler(serial)))


def source_of(report: HardwareReport) -> str:
    """Who said so: the BMC's address and the system's id."""
    return f"BMC {report.bmc.address or 'at an unknown address'}, system {report.system.id}"


def found_of_key(key: IdentityKey, report: HardwareReport) -> tuple[str, ...]:
    """Every usable value that the machine shows for a key; none when it does not tell."""
    if key == "serial":
        return serials_of(report)
    if key == "uuid":
        return (report.system.uuid,) if not is_filler(report.system.uuid) and report.system.uuid is not None else ()
    return report.bmc.macs or ()


def _is_same(key: IdentityKey, expected: str, found: str) -> bool:
    if key == "uuid":
        return found in uuid_forms(expected)
    return expected.strip().casefold() == found.strip().casefold()


def _hint(key: IdentityKey, is_found: bool) -> str:
    if not is_found:
        return f"the BMC does not tell its {key}; the ramdisk will, or leave {key} out of the node's identity"
    if key == "bmc_mac":
        return "another machine answers at this address, or the board was replaced: compare the sticker"
    return "another machine answers at this address, or the rack file is wrong: compare the sticker"
