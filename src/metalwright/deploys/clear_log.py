"""Clearing the event logs of a machine, on demand."""

from __future__ import annotations

from pyinfra.api.deploy import deploy

from metalwright.operations.redfish import event_logs


@deploy("Clear log")
def clear_log() -> None:
    """Clear every event log; what was in them is kept in the evidence folder first."""
    event_logs.cleared(name="Event logs")
