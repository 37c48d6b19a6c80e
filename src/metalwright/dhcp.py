"""The DHCP configuration of the BMC network as a file, rendered from the site's own templates."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from metalwright.addressing.dhcp import DhcpNetwork
from metalwright.errors import LoadingError

DhcpServer = Literal["kea", "dnsmasq"]

TEMPLATES: dict[DhcpServer, str] = {"kea": "kea-dhcp4.conf.j2", "dnsmasq": "dnsmasq.conf.j2"}


def render_dhcp(templates: Path, network: DhcpNetwork, server: DhcpServer, interface: str | None = None) -> str:
    """The configuration for ``server``; ``templates`` is the site's ``templates/``, ``interface`` where it listens.

    Raises:
        LoadingError: the template is missing or broken.
    """
    environment = Environment(
        loader=FileSystemLoader(templates / "dhcp"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files, not HTML
    )
    try:
        return environment.get_template(TEMPLATES[server]).render(network=network, interface=interface)
    except TemplateError as error:
        raise LoadingError(
            f"the template cannot be rendered: {type(error).__name__}: {error}",
            where=str(templates / "dhcp" / TEMPLATES[server]),
            hint="compare it with the template that metalwright ships (metalwright init in an empty directory)",
        ) from error
