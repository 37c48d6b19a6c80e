"""The blueprint's networks on the running node: bonds, VLANs, addresses, MTU, routes."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import node_file
from metalwright.node_files import NETWORKS
from metalwright.operations import networks as operations
from metalwright.operations import trial
from metalwright.operations.files import rendered
from metalwright.operations.systemd import running

OWN_NAMES = "[1-8][0-9]-*"
"""Files of ours by name; the image's own fall-back begins with 90."""


@deploy("Networks", data_defaults={"networks": None, "trial_limit_s": trial.LIMIT_S})
def networks() -> None:
    """The files that the image phase seeds, kept as blueprint and address lock say, by systemd-networkd.

    Changes are on trial: a node that they cut off goes back to what it had within a minute, or at its next boot.
    """
    wanted = host.data.networks
    rendered(name="Way back from trials", files=trial.restore_files())
    running(name="Way back at boot", units=[trial.UNIT], settle_s=0.0)
    operations.known(name="Networks are known", is_known=wanted is not None)
    files = [node_file(item["template"], item["path"], folder="seed", **item["values"]) for item in wanted or ()]
    operations.applied(
        name="Network settings",
        files=files,
        directory=NETWORKS,
        pattern=OWN_NAMES,
        limit_s=float(host.data.trial_limit_s),
    )
