"""Phase *address*: the BMC moves to its allocated address. The last act of its process."""

from __future__ import annotations

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import manager
from metalwright.operations.redfish.refusals import refused


@deploy("BMC address")
def address() -> None:
    """Write the address that ``addresses.lock`` gives to this BMC; whoever called looks for it there."""
    wanted, prefix = host.data.get("bmc_address"), host.data.get("bmc_prefix")
    if not wanted or not prefix:
        refused(
            name="BMC address",
            reason="no BMC address is allocated\n\nhint: run `metalwright addresses allocate` and commit the lock file",
        )
        return
    manager.address(name="BMC address", address=wanted, prefix=prefix, gateway=host.data.get("bmc_gateway"))
