"""What makers put beside the standard, in the trees that have it: lockdown and remote syslog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.resources import oem
from metalwright.simulator.service.routes import Call, Patch

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings


def bind_dell(bindings: Bindings, path: str, body: Json) -> None:
    """Dell's attributes, where they are those of the BMC."""
    if "Lockdown.1.SystemLockdown" not in body.get("Attributes", {}):
        return

    def show(call: Call, body: Json) -> None:
        body["Attributes"].update(oem.dell_attributes(call))

    bindings.lives(path, show)
    bindings.patches[path] = Patch(oem.DELL_FIELDS, oem.set_dell)
    bindings.open_when_locked.add(path)


def bind_supermicro(bindings: Bindings, path: str, body: Json) -> None:
    """Supermicro's lockdown."""
    if "SysLockdownEnabled" not in body:
        return

    def show(call: Call, body: Json) -> None:
        body.update(oem.supermicro_members(call))

    bindings.lives(path, show)
    bindings.patches[path] = Patch(oem.SUPERMICRO_FIELDS, oem.set_supermicro)
    bindings.open_when_locked.add(path)
