"""Phase *address*: the BMC moves to its allocated address. The last act of its process."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import manager
from metalwright.operations.redfish.refusals import refused, skipped


@deploy("BMC address")
def address() -> None:
    """Write the address that ``addresses.lock`` gives to this BMC; whoever called looks for it there."""
    if host.data.get("equipment"):
        skipped(name="BMC address", reason="equipment keeps the address that its rack file or DHCP gives")
        return
    wanted, prefix = host.data.get("bmc_address"), host.data.get("bmc_prefix")
    if not wanted or not prefix:
        refused(
            name="BMC address",
            reason="no BMC address is allocated\n\nhint: run `metalwright addresses allocate` and commit the lock file",
        )
        return
    manager.address(name="BMC address", address=wanted, prefix=prefix, gateway=host.data.get("bmc_gateway"))
