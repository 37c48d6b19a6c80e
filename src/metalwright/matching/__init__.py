"""Reports against blueprints and nodes: findings, the system disk, identity, claims. Pure."""

from metalwright.matching.claiming import Claim, Claims, Conflict, claim
from metalwright.matching.drives import choose_system_disk, system_disk_finding
from metalwright.matching.identity import agreeing_keys, identity_matches, serials_of
from metalwright.matching.match import match

__all__ = [
    "Claim",
    "Claims",
    "Conflict",
    "agreeing_keys",
    "choose_system_disk",
    "claim",
    "identity_matches",
    "match",
    "serials_of",
    "system_disk_finding",
]
