"""What the firmware says on the serial port about booting."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalwright.simulator.boot import CD, HTTP, PXE, disk_device
from metalwright.simulator.qemu.nvram import HTTP_NAME

_STARTING = re.compile(rb'BdsDxe: starting Boot[0-9A-F]{4} "([^"]*)"')
_FAILED = re.compile(rb"BdsDxe: failed to start Boot[0-9A-F]{4}")
_NOTHING = re.compile(rb"BdsDxe: No bootable option")
_OWN_PROGRAMS = ("EFI Internal Shell", "UiApp", "BootManagerMenuApp")  # of the firmware: nothing was booted
_KEEP_BYTES = 4096


class BootWitness:
    """Reads the console of one power-on and tells which device was really started.

    After a boot has begun the guest owns the console, so only a failed start opens the eyes again.
    """

    def __init__(self, disk_serials: Sequence[str]) -> None:
        self._serials = sorted(disk_serials, key=len, reverse=True)
        self._buffer = b""
        self._is_watching = True

    def feed(self, data: bytes) -> list[str | None]:
        """Take console output; each result is a device, or None for "nothing to boot"."""
        self._buffer = (self._buffer + data)[-_KEEP_BYTES - len(data) :]
        found: list[str | None] = []
        while True:
            patterns = (_STARTING, _NOTHING) if self._is_watching else (_FAILED,)
            matches = [match for pattern in patterns if (match := pattern.search(self._buffer)) is not None]
            if not matches:
                return found
            match = min(matches, key=lambda candidate: candidate.start())
            self._buffer = self._buffer[match.end() :]
            self._is_watching = match.re is not _STARTING
            if match.re is _STARTING:
                found.append(self._device(match.group(1).decode("ascii", "replace")))
            elif match.re is _NOTHING:
                found.append(None)

    def _device(self, description: str) -> str | None:
        if description.strip() in _OWN_PROGRAMS:
            return None
        if "DVD-ROM" in description:
            return CD
        if description.strip() == HTTP_NAME:
            return HTTP
        if description.startswith("UEFI PXE"):
            return PXE
        for serial in self._serials:
            if serial in description:
                return disk_device(serial)
        return description.strip()
