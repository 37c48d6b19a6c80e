"""What the resources of a tree do, one module per noun. A binder gets each resource of its type once per tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from metalwright.simulator.fleet.living import (
    bios,
    certificates,
    chassis,
    jobs,
    logs,
    makers,
    managers,
    media,
    systems,
    updates,
)
from metalwright.simulator.service.answers import Json

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings

Binder = Callable[["Bindings", str, Json], None]

BINDERS: dict[str, tuple[Binder, ...]] = {
    "ComputerSystem": (systems.bind,),
    "SecureBoot": (systems.bind_secure_boot,),
    "Bios": (bios.bind,),
    "VirtualMedia": (media.bind,),
    "Manager": (managers.bind,),
    "ManagerNetworkProtocol": (managers.bind_protocol,),
    "EthernetInterface": (managers.bind_interface,),
    "Certificate": (certificates.bind_certificate,),
    "CertificateService": (certificates.bind,),
    "Chassis": (chassis.bind,),
    "LogService": (logs.bind,),
    "JobCollection": (jobs.bind,),
    "DellJobCollection": (jobs.bind,),
    "DellAttributes": (makers.bind_dell,),
    "SysLockdown": (makers.bind_supermicro,),
    "UpdateService": (updates.bind,),
    "SoftwareInventory": (updates.bind_item,),
}
