"""Places on a node that several parts of metalwright agree on."""

from __future__ import annotations

RESTART_REASONS = "/run/metalwright/restart"
"""Why the running system has to be restarted, a reason a line; gone with the restart, since /run is memory."""
