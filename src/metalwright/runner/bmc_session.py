"""A logged-in session with the BMC of a node, as the phases open it: only with the node's own and the factory's logins.

The login of the environment stays with the person who typed it: a run is taken up by others.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from metalwright.redfish.access import BmcSession, NodeBmcs
from metalwright.redfish.places import Place
from metalwright.workspace import Workspace


def open_bmc(
    workspace: Workspace, node: str, places: Sequence[Place] | None = None
) -> AbstractAsyncContextManager[BmcSession]:
    """See :meth:`metalwright.redfish.access.NodeBmcs.opened`."""
    declared = workspace.repository.node(node)
    return NodeBmcs(workspace).opened(declared, places, may_use_environment=False)
