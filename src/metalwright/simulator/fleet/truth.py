"""What a tree declares of its machine, in the words of one BMC."""

from __future__ import annotations

import json
from typing import Any

from metalwright.simulator.fleet.tree import Identity, Tree


def fill_truth(tree: Tree, identity: Identity) -> Any:
    """The declared truth with this BMC's serials and MACs; ``None`` for a tree that declares none (a capture)."""
    return json.loads(identity.fill(json.dumps(tree.truth)))
