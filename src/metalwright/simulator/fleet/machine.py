"""A machine that only pretends: it has power, and it boots what is first."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from metalwright.simulator.boot import CD
from metalwright.simulator.hardware import Exit, MachineListener


class PretendMachine:
    """The back end of a BMC in a fleet: no process, no file."""

    console_path = Path(os.devnull)

    def __init__(self, *, is_on: bool = False) -> None:
        self.listener: MachineListener | None = None
        self._on = is_on

    @property
    def is_running(self) -> bool:
        """Whether the power is on."""
        return self._on

    async def start(self, devices: Sequence[str], media: Path | None, http_uri: str = "") -> None:
        """Power on; the first device that is there boots at once."""
        del http_uri
        self._on = True
        device = next((device for device in devices if device != CD or media is not None), None)
        if self.listener is None:
            return
        if device is None:
            self.listener.nothing_to_boot(devices)
        else:
            self.listener.boot_started(device)

    async def cut_power(self) -> None:
        """Off at once."""
        self._on = False

    async def press_power_button(self) -> None:
        """The guest obeys at once."""
        if self._on:
            self._on = False
            if self.listener is not None:
                self.listener.machine_exited(Exit.POWERED_OFF, "power button")

    async def send_nmi(self) -> None:
        """Nothing to see."""

    async def change_media(self, media: Path | None) -> None:
        """Nothing reads the medium after the boot."""
