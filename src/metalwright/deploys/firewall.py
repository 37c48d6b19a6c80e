"""What may reach the node."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import FIREWALL_RULES as RULES
from metalwright.node_files import NOBODY, firewall_files
from metalwright.operations import trial
from metalwright.operations.nftables import loaded
from metalwright.zones import NO_ZONES

UNDO = (
    "nft add table inet metalwright",
    "nft delete table inet metalwright",
    f"! grep -q 'table inet metalwright' {RULES} || nft --file {RULES}",
)


@deploy(
    "Firewall",
    data_defaults={
        "firewall": "none",
        "open_tcp_ports": [],
        "scraped": NOBODY,
        "zones": NO_ZONES,
        "trial_limit_s": trial.LIMIT_S,
    },
)
def firewall() -> None:
    """``default-deny``: only SSH, agents' ports, declared ports, ICMP and answers get in. ``none``: no rules of ours.

    Where the site names who watches (``scraped``), the agents' ports are open to those alone. A node with several
    networks serves SSH and agents at its management address alone and forwards nothing from one to another; no node
    opens a connection to the networks of BMCs.
    Tables of others are left alone. New rules are loaded only when nft finds the whole file valid, and on trial: a node
    that they cut off goes back to the old ones within a minute.
    """
    wanted = host.data.firewall
    files = rendered_files(firewall_files(wanted, host.data.open_tcp_ports, host.data.scraped, host.data.zones))
    load = (f"nft --check --file {RULES} && nft --file {RULES}",)
    trial.applied(
        name="Firewall rules",
        trial="firewall",
        files=files,
        apply=load,
        undo=UNDO,
        limit_s=float(host.data.trial_limit_s),
    )
    loaded(name="Firewall in force", path=RULES, policy="drop" if wanted == "default-deny" else None)
