"""The DHCP configuration of the BMC network as a file, rendered from the site's own templates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from metalwright.addressing.dhcp import DhcpNetwork
from metalwright.templates import render

DhcpServer = Literal["kea", "dnsmasq"]

TEMPLATES: dict[DhcpServer, str] = {"kea": "kea-dhcp4.conf.j2", "dnsmasq": "dnsmasq.conf.j2"}


def render_dhcp(templates: Path, network: DhcpNetwork, server: DhcpServer, interface: str | None = None) -> str:
    """The configuration for ``server``; ``templates`` is the site's ``templates/``, ``interface`` where it listens.

    Raises:
        LoadingError: the template is missing or broken.
    """
    return render(templates, f"dhcp/{TEMPLATES[server]}", {"network": network, "interface": interface})
