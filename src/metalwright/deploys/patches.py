"""Security patches, without a change of what the blueprint pins."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import all_pins, patch_files
from metalwright.operations.apt import pinned
from metalwright.operations.files import rendered
from metalwright.operations.systemd import running

TIMERS = ("apt-daily.timer", "apt-daily-upgrade.timer")


@deploy("Patches", data_defaults={"patches": "none", "package_pins": [], "accelerator": None})
def patches() -> None:
    """``security-except-pinned``: unattended-upgrades installs security patches of all but pinned packages and kernels.

    It never restarts the node. ``none``: nothing is upgraded by itself.
    """
    wanted = host.data.patches == "security-except-pinned"
    pins = all_pins(host.data.package_pins, host.data.accelerator)
    rendered(name="Patch settings", files=rendered_files(patch_files(host.data.patches, pins)))
    pinned(name="Patch program", pins=[], present=["unattended-upgrades"] if wanted else [])
    running(name="Patch timers", units=TIMERS if wanted else [], settle_s=0.0)
