"""Phase *harden*: the BMC offers what is needed and no more."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import accounts, manager

UNWANTED_PROTOCOLS = {"IPMI": False, "SNMP": False, "SSDP": False, "Telnet": False, "HTTP": False}
"""Off on every BMC that has them: passwords or control in clear, or announcements to everybody."""


@deploy("BMC hardening")
def harden() -> None:
    """Protocols off, unused accounts off, the clock's source set."""
    manager.protocols(name="BMC protocols", wanted=dict(UNWANTED_PROTOCOLS))
    accounts.enabled(name="Unused BMC accounts", users=host.data.get("unused_bmc_accounts") or [], is_enabled=False)
    manager.ntp(name="BMC clock", servers=host.data.get("ntp_servers") or [])
