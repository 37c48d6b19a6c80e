"""Firmware: which inventory entries a name means, which images bring a machine within its constraints, in which order.

Pure: what is installed and what the site's catalogue offers come in, steps and refusals go out.
"""

from metalwright.firmware.components import Installed, entries_of
from metalwright.firmware.plan import FirmwarePlan, Machine, Step, firmware_checks, plan_firmware
from metalwright.firmware.progress import Move, Patience, TaskView, Verdict, judge, next_move

__all__ = [
    "FirmwarePlan",
    "Installed",
    "Machine",
    "Move",
    "Patience",
    "Step",
    "TaskView",
    "Verdict",
    "entries_of",
    "firmware_checks",
    "judge",
    "next_move",
    "plan_firmware",
]
