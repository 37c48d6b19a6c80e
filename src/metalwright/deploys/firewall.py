"""What may reach the node."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import node_file
from metalwright.operations.files import rendered
from metalwright.operations.nftables import loaded

RULES = "/etc/nftables.conf"


@deploy("Firewall", data_defaults={"firewall": "none", "open_tcp_ports": []})
def firewall() -> None:
    """``default-deny``: only SSH, the agents' ports, ICMP and answers get in. ``none``: metalwright has no rules.

    Tables of others are left alone. New rules are loaded only when nft finds the whole file valid.
    """
    wanted = host.data.firewall
    text = node_file("nftables.conf.j2", RULES, firewall=wanted, open_tcp_ports=host.data.open_tcp_ports)
    rules = rendered(name="Firewall rules", files=[text])
    server.shell(
        name="nft loads its rules",
        commands=[f"nft --check --file {RULES}", f"nft --file {RULES}"],
        _if=rules.did_change,
    )
    loaded(name="Firewall in force", path=RULES, policy="drop" if wanted == "default-deny" else None)
