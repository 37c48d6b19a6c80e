"""Time from the site's NTP servers."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import time_files
from metalwright.operations.files import rendered


@deploy("Time", data_defaults={"ntp_servers": []})
def time_synchronisation() -> None:
    """chrony as a client of ``ntp_servers``."""
    settings = rendered(
        name="chrony settings",
        files=rendered_files(time_files(host.data.ntp_servers)),
    )
    server.shell(
        name="chrony reads its settings",
        commands=["systemctl restart chrony.service"],
        _if=settings.did_change,
    )
