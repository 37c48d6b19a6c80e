"""The blueprint's networks on the running node: bonds, VLANs, rails, addresses, MTU, routes."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import NodeFile
from metalwright.operations import networks as operations
from metalwright.operations import trial
from metalwright.operations.files import rendered
from metalwright.operations.systemd import running


@deploy(
    "Networks",
    data_defaults={"networks": None, "network_stack": "systemd-networkd", "trial_limit_s": trial.LIMIT_S},
)
def networks() -> None:
    """The files that the image phase seeds, kept as blueprint and address lock say, by what the image's system has.

    Changes are on trial: a node that they cut off goes back to what it had within a minute, or at its next boot.
    """
    wanted = host.data.networks
    rendered(name="Way back from trials", files=trial.restore_files())
    running(name="Way back at boot", units=[trial.UNIT], settle_s=0.0)
    operations.known(name="Networks are known", is_known=wanted is not None)
    files = rendered_files((NodeFile(**item) for item in wanted or ()), folder="seed")
    operations.applied(
        name="Network settings",
        files=files,
        stack=host.data.network_stack,
        limit_s=float(host.data.trial_limit_s),
    )
