"""Phase *credentials*: the BMC gets an account and a password of metalwright's own, and the site's time."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import accounts, manager


@deploy("BMC credentials")
def credentials() -> None:
    """Leave the factory's login behind; set the clock. ``--data rotate_before=2026-12-01`` replaces older passwords."""
    before = host.data.get("rotate_before")
    accounts.own_login(
        name="BMC login of our own",
        user=host.data.get("bmc_user") or "metalwright",
        made_before=str(before) if before else None,
    )
    manager.clock(name="BMC clock", servers=host.data.get("ntp_servers") or [])
