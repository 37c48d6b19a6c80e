"""Saying no, and saying that there is nothing to do."""

from __future__ import annotations

from pyinfra.api.operation import operation
from pyinfra.context import host

from metalwright.operations.redfish.requests import Commands, contained, refuse

NO_SYSTEM = "no system here: this BMC has no host"


@operation()
@contained
def refused(reason: str) -> Commands:
    """Fail this host with a reason; the others go on."""
    yield refuse(reason)


@operation()
@contained
def skipped(reason: str) -> Commands:
    """Do nothing, and say why."""
    host.noop(reason)
    yield from ()
