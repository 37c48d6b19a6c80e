"""How long phases may wait, in seconds, and how often an act is tried."""

from __future__ import annotations

from dataclasses import dataclass

from metalwright.model.site import Limits


@dataclass(frozen=True)
class Timing:
    """Limits in seconds; ``attempts`` bounds repeated acts in one invocation."""

    bmc_settle_s: float = 600.0
    ramdisk_boot_s: float = 900.0
    image_s: float = 3600.0
    os_boot_s: float = 900.0
    firmware_s: float = 7200.0
    wipe_s: float = 172_800.0
    stall_s: float = 180.0
    not_booted_s: float = 60.0
    system_answers_s: float = 120.0
    attempts: int = 2

    @classmethod
    def from_limits(cls, limits: Limits) -> Timing:
        """The site's limits, minutes to seconds."""
        return cls(
            bmc_settle_s=limits.bmc_settle_minutes * 60,
            ramdisk_boot_s=limits.ramdisk_boot_minutes * 60,
            not_booted_s=min(60.0, limits.ramdisk_boot_minutes * 60 / 3),
            image_s=limits.image_minutes * 60,
            os_boot_s=limits.os_boot_minutes * 60,
            firmware_s=limits.firmware_minutes * 60,
            wipe_s=limits.wipe_minutes * 60,
            attempts=max(1, limits.attempts),
        )
