"""Phase *credentials*: the BMC gets a password of its own and the site's time."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import accounts, manager


@deploy("BMC credentials")
def credentials() -> None:
    """Replace the factory password by one from the secret store; set the clock's source."""
    accounts.own_password(name="BMC password of our own")
    manager.ntp(name="BMC clock", servers=host.data.get("ntp_servers") or [])
