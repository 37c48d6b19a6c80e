"""DHCP configurations, of the BMC network and of the one that nodes boot from, rendered from the site's templates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from metalwright.addressing.boot_dhcp import BootNetwork
from metalwright.addressing.dhcp import DhcpNetwork
from metalwright.templates import render

DhcpServer = Literal["kea", "dnsmasq"]

TEMPLATES: dict[DhcpServer, str] = {"kea": "kea-dhcp4.conf.j2", "dnsmasq": "dnsmasq.conf.j2"}


def render_dhcp(
    templates: Path, network: DhcpNetwork | BootNetwork, server: DhcpServer, interface: str | None = None
) -> str:
    """The configuration for ``server``; ``templates`` is the site's ``templates/``, ``interface`` where it listens.

    Raises:
        LoadingError: the template is missing or broken.
    """
    kind = "boot-" if isinstance(network, BootNetwork) else ""
    return render(templates, f"dhcp/{kind}{TEMPLATES[server]}", {"network": network, "interface": interface})
