"""What watches the node: the settings of its agents. Packages and firewall bring the rest of them."""

from __future__ import annotations

from collections.abc import Mapping

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.model.package import AGENT_PACKAGES
from metalwright.node_files import DISK_TIMERS, monitoring_files
from metalwright.operations.files import rendered


@deploy("Monitoring", data_defaults={"agents": {}})
def monitoring() -> None:
    """Which services node_exporter tells of, which counters the GPU exporter reads, how often disks are asked."""
    settings = rendered(name="Settings of the agents", files=rendered_files(monitoring_files(host.data.agents)))
    server.shell(
        name="The agents read their settings",
        commands=["systemctl daemon-reload", *_restarts(host.data.agents)],
        _if=settings.did_change,
    )


def _restarts(agents: Mapping[str, str]) -> list[str]:
    """A timer may stay off on a machine without disks of its kind; an exporter may not."""
    units = [unit for name, agent in AGENT_PACKAGES.items() if name in agents for unit in agent.units]
    commands = [f"systemctl restart {' '.join(units)}"] if units else []
    return [*commands, f"systemctl restart {' '.join(DISK_TIMERS)}"] if "disk_metrics" in agents else commands
