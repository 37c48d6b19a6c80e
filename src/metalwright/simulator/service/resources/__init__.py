"""The resources of the simulated BMC, one module per noun; each has a ``routes()``."""

from __future__ import annotations

import functools

from metalwright.simulator.service.resources import (
    accounts,
    bios,
    certificates,
    chassis,
    devices,
    firmware,
    jobs,
    logs,
    managers,
    network_ports,
    oem,
    processors,
    registries,
    root,
    session_service,
    storage,
    systems,
    tasks,
    virtual_media,
)
from metalwright.simulator.service.routes import Route, RouteTable

_MODULES = (
    root,
    session_service,
    accounts,
    systems,
    processors,
    storage,
    network_ports,
    bios,
    chassis,
    devices,
    managers,
    certificates,
    oem,
    jobs,
    virtual_media,
    logs,
    firmware,
    tasks,
    registries,
)


def all_routes() -> list[Route]:
    """Every resource of the service."""
    return [route for module in _MODULES for route in module.routes()]


@functools.cache
def lab_routes() -> RouteTable:
    """The table of all of them; one for all BMCs."""
    return RouteTable(all_routes())
