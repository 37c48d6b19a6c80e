"""Saying no."""

from __future__ import annotations

from pyinfra.api.operation import operation

from metalwright.operations.redfish.requests import Commands, contained, refuse


@operation()
@contained
def refused(reason: str) -> Commands:
    """Fail this host with a reason; the others go on."""
    yield refuse(reason)
