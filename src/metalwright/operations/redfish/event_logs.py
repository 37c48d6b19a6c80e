"""The event logs of a machine."""

from __future__ import annotations

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.facts.redfish import EventLogs
from metalwright.operations.redfish.requests import (
    Commands,
    Proof,
    contained,
    line,
    look,
    post,
    refuse,
    show_diff,
    unreadable,
)

SETTLE_S = 30.0


@operation(is_idempotent=False)
@contained
def cleared() -> Commands:
    """Clear every event log that can be cleared; the connector keeps what was in them as evidence first."""
    seen = look(EventLogs)
    if seen is None:
        yield unreadable("its event logs")
        return
    logs = [log for log in seen["logs"] if log["clear_uri"] and log["entries"] != 0]
    if not logs:
        if any(log["entries"] != 0 for log in seen["logs"]) or not seen["logs"]:
            yield refuse("this BMC offers no event log that can be cleared")
            return
        host.noop("the event logs are empty")
        return
    show_diff([line(f"event log {log['name']}", f"{log['entries']} entries", "cleared") for log in logs])
    for log in logs:
        shown = Proof({}, {"Members@odata.count": log["entries"]}, log["entries_uri"], SETTLE_S)
        yield post(log["clear_uri"], {}, proof=shown)
