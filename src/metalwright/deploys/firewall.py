"""What may reach the node."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import FIREWALL_RULES as RULES
from metalwright.node_files import NOBODY, firewall_files
from metalwright.operations.files import rendered
from metalwright.operations.nftables import loaded


@deploy("Firewall", data_defaults={"firewall": "none", "open_tcp_ports": [], "scraped": NOBODY})
def firewall() -> None:
    """``default-deny``: only SSH, the agents' ports, ICMP and answers get in. ``none``: metalwright has no rules.

    Where the site names who watches (``scraped``), the agents' ports are open to those alone.
    Tables of others are left alone. New rules are loaded only when nft finds the whole file valid.
    """
    wanted = host.data.firewall
    files = rendered_files(firewall_files(wanted, host.data.open_tcp_ports, host.data.scraped))
    rules = rendered(name="Firewall rules", files=files)
    server.shell(
        name="nft loads its rules",
        commands=[f"nft --check --file {RULES}", f"nft --file {RULES}"],
        _if=rules.did_change,
    )
    loaded(name="Firewall in force", path=RULES, policy="drop" if wanted == "default-deny" else None)
