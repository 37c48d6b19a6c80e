"""The host system and the chassis around it."""

from __future__ import annotations

from typing import get_args

from metalwright.model.report import ChassisFacts, PowerState, SystemFacts
from metalwright.redfish.inventory import quirks
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import UNKNOWN, Resource

_POWER_STATES = {state.casefold(): state for state in get_args(PowerState)}
_WANTED = ("manufacturer", "model", "serial", "uuid", "bios_version", "power_state")


def system_facts(host: Host) -> SystemFacts:
    """What the host says of itself; maker and model from its baseboard where it is anonymous (GB200 System_0)."""
    system = host.system
    facts = SystemFacts.model_validate(
        {
            "id": system.id or "unknown",
            "manufacturer": system.text("Manufacturer") or _from(host.baseboards, "Manufacturer"),
            "model": _model(host),
            "sku": system.identity("SKU"),
            "part_number": system.identity("PartNumber"),
            "serial": system.identity("SerialNumber"),
            "uuid": system.uuid("UUID"),
            "bios_version": system.text("BiosVersion"),
            "power_state": power_state(system),
            "hostname": system.text("HostName"),
        }
    )
    for name in _WANTED:
        if getattr(facts, name) is None:
            system.note(system.uri, f"{name} is {UNKNOWN}")
    return facts


def chassis_facts(host: Host) -> ChassisFacts:
    """The chassis that carries the sticker."""
    box = host.box
    if box is None:
        return ChassisFacts()
    if box.raw("ChassisType") is None:
        box.note(box.uri, "ChassisType is missing")
    return ChassisFacts(
        manufacturer=box.text("Manufacturer"),
        model=quirks.model_as_sold(box.text("Model")),
        serial=box.identity("SerialNumber"),
        type=box.text("ChassisType"),
    )


def power_state(system: Resource) -> str | None:
    """The power state in Redfish's spelling; true and false of old BMCs are On and Off."""
    raw = system.raw("PowerState")
    if isinstance(raw, bool):
        return "On" if raw else "Off"
    text = system.text("PowerState")
    if text is not None and text.casefold() not in _POWER_STATES:
        system.note(system.uri, f"PowerState is {text!r}: taken as unknown")
    return _POWER_STATES.get(text.casefold()) if text is not None else None


def _model(host: Host) -> str | None:
    """Model, joined with SubModel where the chassis confirms that the name is sold that way (DMTF: 3500 + RX)."""
    model = host.system.text("Model")
    submodel = host.system.text("SubModel")
    if model is not None and submodel is not None:
        sold = {chassis.text("Model") for chassis in host.chassis}
        model = f"{model}{submodel}" if f"{model}{submodel}" in sold else model
    return quirks.model_as_sold(model) or _from(host.baseboards, "Model")


def _from(resources: tuple[Resource, ...], name: str) -> str | None:
    return next((text for resource in resources if (text := resource.text(name)) is not None), None)
