"""From the data of a profile to its resource tree, one module per part of the machine."""

from __future__ import annotations

from metalwright.simulator.fleet.tree import Tree, make_tree
from metalwright.simulator.profiles.machine import MachineData, Style
from metalwright.simulator.profiles.render import (
    baseboard,
    bios,
    chassis,
    devices,
    firmware,
    host,
    manager,
    power,
    root,
)
from metalwright.simulator.profiles.render.frame import Frame
from metalwright.simulator.profiles.render.truth import declare


def render(name: str, data: MachineData, style: Style) -> Tree:
    """The tree of a profile, with the truth that it declares."""
    frame = Frame(data, style)
    if data.system is not None:
        host.write(frame)
        bios.write(frame)
    devices.write(frame)
    if style.gpus == "baseboard" and data.gpus is not None:
        baseboard.write(frame)
    chassis.write(frame)
    power.write(frame)
    manager.write(frame)
    firmware.write(frame)
    root.write(frame)
    factory = {
        "user": data.bmc.user,
        "password": data.bmc.password,
        "manufacturer": data.bmc.manufacturer,
        "model": data.bmc.model,
        "max_sessions": style.max_sessions,
        "account_slots": style.account_slots,
        "has_missing_slot": False,
        "oem": "dell" if style.jobs else "",
        "max_password_length": 20,
    }
    return make_tree(
        name,
        frame.book.bodies,
        factory=factory,
        serial_prefix=data.serial_prefix,
        oui=data.oui,
        truth=declare(frame),
        same_version=frame.same_version,
        task_prefix=style.task_prefix,
    )
