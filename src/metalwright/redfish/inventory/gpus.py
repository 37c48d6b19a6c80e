"""GPU packages, wherever the vendor put them.

Places are asked in this order until one names a GPU: the Processors of the host and of its baseboards, the
PCIe devices of the chassis, HPE's own device list, the graphics controllers. Boards, switches and risers that call
themselves GPU do not count; two dies of one package count once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from metalwright.model.report import CANNOT_SEE, Gpu
from metalwright.redfish.inventory import accelerators, quirks
from metalwright.redfish.inventory.accelerators import Accelerator
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.gpu_packages import Found, gpu_of, once, packages, with_board_names
from metalwright.redfish.inventory.resource import UNKNOWN, Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Listing, Walk, together

_GPU_ID = re.compile(r"gpu|sxm|oam|accel", re.IGNORECASE)


async def read_gpus(walk: Walk, host: Host) -> tuple[Gpu, ...] | None:
    """GPU packages of the host; ``()`` if the BMC lists its devices and none is a GPU, ``None`` if it is unknown."""
    systems = (host.system, *host.baseboards)
    listings = await together(walk.listing(system.link("Processors")) for system in systems)
    processors = _once_by_id([[item for item in listing.resources if _is_gpu_processor(item)] for listing in listings])
    hidden = _hidden(_unreadable(listings), [item.id for item in processors])
    if processors or hidden:
        found = await together(_of_processor(walk, item) for item in processors if not item.is_absent)
        gpus = [gpu_of(item) for item in with_board_names(packages(once(found)), host)]
        return _sorted([*gpus, *hidden])
    devices, unreadable_devices = await _devices(walk, host)
    if devices:
        hidden = _hidden(unreadable_devices, [item.resource.id for item in devices])
        return _sorted([*(gpu_of(item) for item in packages(devices)), *hidden])
    is_known = any(listing.is_known for listing in listings) and not unreadable_devices
    if not is_known or host.is_off or host.has_hidden_systems:
        why = ", and systems beside it cannot be read or are nobody's" if host.has_hidden_systems else ""
        walk.note(host.system.uri, f"says nothing of GPUs{why}: {UNKNOWN}")
        return None
    if not _lists_devices(host):
        walk.note(host.system.uri, f"{CANNOT_SEE} gpus other than its processors")
    return ()


def _hidden(uris: Sequence[str], known_ids: Sequence[str]) -> list[Gpu]:
    """GPUs of which only the slot is known: members that answer an error, named like GPUs or like those known."""
    families = {_family(item) for item in known_ids}
    names = [uri.rstrip("/").rpartition("/")[2] for uri in uris]
    return [Gpu(slot=name) for name in names if _GPU_ID.search(name) or _family(name) in families]


def _family(name: str) -> str:
    return re.sub(r"\d+", "#", name.casefold())


def _lists_devices(host: Host) -> bool:
    places = [host.system.raw("PCIeDevices")]
    for chassis in host.chassis:
        places += [chassis.raw("PCIeDevices"), chassis.raw("Links", "PCIeDevices")]
    return any(places)


def _once_by_id(lists: Sequence[Sequence[Resource]]) -> list[Resource]:
    """The host's processors and those that only a baseboard lists: one device can be listed by both, with one id."""
    host_ids = {item.id for item in lists[0]}
    return [*lists[0], *(item for others in lists[1:] for item in others if item.id not in host_ids)]


def _sorted(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    return tuple(sorted(gpus, key=lambda gpu: natural_key(gpu.slot)))


def _is_gpu_processor(resource: Resource) -> bool:
    """Processors of type GPU, and accelerators (the type of OAM modules) unless they are of a maker of other things."""
    kind = (resource.text("ProcessorType") or "").casefold()
    names = (resource.text("Model"), resource.text("Name"))
    if kind not in ("gpu", "accelerator") or accelerators.is_no_gpu(*names):
        return False
    return kind == "gpu" or accelerators.is_gpu_name(*names) or _may_be_gpu(resource)


async def _of_processor(walk: Walk, processor: Resource) -> Found:
    """A processor, with its PCIe device where the processor itself does not say which GPU it is."""
    name = _name_of(processor)
    kind = accelerators.by_part_number(processor.identity("PartNumber")) or accelerators.by_name(
        processor.text("Model"), name
    )
    if kind is not None or name is not None:
        return Found(processor, kind, name)
    device = await walk.resource(processor.link("Links", "PCIeDevice"))
    if device is None:
        return Found(processor, None, None)
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    return Found(processor, kind or await _kind_of_functions(walk, device), name, device)


def _name_of(resource: Resource) -> str | None:
    """The property that names the GPU: Model, unless that is a part number and Name is the better one."""
    texts = [text for text in (resource.text("Model"), resource.text("Name")) if text is not None]
    maker = resource.text("Manufacturer")
    return next((text for text in texts if accelerators.is_gpu_name(text, maker=maker)), None)


async def _devices(walk: Walk, host: Host) -> tuple[list[Found], list[str]]:
    """The GPUs of the first place that names some, and the listed devices that cannot be read so far."""
    unreadable: list[str] = []
    for place in (_pcie_devices, _linked_devices, _hpe_devices, _graphics_controllers):
        found, more = await place(walk, host)
        unreadable += more
        if found:
            return found, unreadable
    return [], unreadable


async def _pcie_devices(walk: Walk, host: Host) -> tuple[list[Found], list[str]]:
    """What the collections of the chassis list, and that of the system where it is one."""
    targets = [chassis.link("PCIeDevices") for chassis in host.chassis if _is_link(chassis.raw("PCIeDevices"))]
    targets += [host.system.link("PCIeDevices")] if _is_link(host.system.raw("PCIeDevices")) else []
    return await _gpus_among(walk, await together(walk.listing(target) for target in dict.fromkeys(targets)))


async def _linked_devices(walk: Walk, host: Host) -> tuple[list[Found], list[str]]:
    """What system and chassis link to one by one: some BMCs leave GPUs out of the collections, or have none."""
    linked = [target for chassis in host.chassis for target in chassis.links("Links", "PCIeDevices")]
    linked += host.system.links("PCIeDevices") if isinstance(host.system.raw("PCIeDevices"), list) else ()
    by_id = {target.rstrip("/").rpartition("/")[2]: target for target in linked}
    return await _gpus_among(walk, [await walk.linked(by_id.values())])


def _is_link(value: object) -> bool:
    return isinstance(value, (str, Mapping))


async def _gpus_among(walk: Walk, listings: Sequence[Listing]) -> tuple[list[Found], list[str]]:
    found = await together(_of_device(walk, item) for listing in listings for item in listing.present)
    return once([item for item in found if item is not None]), _unreadable(listings)


def _unreadable(listings: Sequence[Listing]) -> list[str]:
    return [uri for listing in listings for uri in listing.unreadable]


async def _of_device(walk: Walk, device: Resource) -> Found | None:
    """A PCIe device that is a GPU: by part number, by name, or by the ids of its functions."""
    names = (device.text("Model"), device.text("Name"))
    if accelerators.is_no_gpu(*names):
        return None
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    if kind is None and name is None and _may_be_gpu(device):
        kind = await _kind_of_functions(walk, device)
    return Found(device, kind, name) if kind is not None or name is not None else None


def _may_be_gpu(device: Resource) -> bool:
    """Whether a read of its functions is worth it: devices of makers of GPUs that do not name something else."""
    maker = (device.text("Manufacturer") or "").casefold()
    name = (device.text("Model") or device.text("Name") or "").casefold()
    if any(word in f"{maker} {name}" for word in ("nvidia", "habana")):
        return True
    is_maker = any(word in f"{maker} {name}" for word in ("advanced micro", "amd", "intel"))
    return is_maker and (name in ("", maker) or any(word in name for word in ("gpu", "graphic", "display", "accel")))


async def _kind_of_functions(walk: Walk, device: Resource) -> Accelerator | None:
    target = device.link("PCIeFunctions")
    functions = (
        await walk.listing(target) if target is not None else await walk.linked(device.links("Links", "PCIeFunctions"))
    )
    for function in functions.resources:
        vendor_id, device_id = _hex(function, "VendorId"), _hex(function, "DeviceId")
        kind = accelerators.by_pci_id(vendor_id, device_id)
        if kind is not None:
            return kind
        maker = accelerators.maker_of(vendor_id)
        if maker is not None and _is_accelerator_class(function):
            return Accelerator(maker, f"{maker} device {device_id:04x}" if device_id else maker)
    return None


def _is_accelerator_class(function: Resource) -> bool:
    code = _hex(function, "ClassCode")
    kind = (function.text("DeviceClass") or "").casefold()
    return kind in ("displaycontroller", "processingaccelerators") or (code is not None and code >> 16 in (0x03, 0x12))


def _hex(resource: Resource, name: str) -> int | None:
    text = resource.text(name)
    try:
        return int(text, 16) if text is not None else None
    except ValueError:
        return None


async def _hpe_devices(walk: Walk, host: Host) -> tuple[list[Found], list[str]]:
    listings = await together(walk.listing(chassis.link(*quirks.HPE_DEVICES)) for chassis in host.chassis)
    gpus = [
        _named(device)
        for listing in listings
        for device in listing.present
        if (device.text("DeviceType") or "").casefold() == "gpu" and not accelerators.is_no_gpu(device.text("Name"))
    ]
    return _known(gpus), _unreadable(listings)


async def _graphics_controllers(walk: Walk, host: Host) -> tuple[list[Found], list[str]]:
    """Only known GPUs: every BMC has a graphics controller of its own."""
    listing = await walk.listing(host.system.link("GraphicsControllers"))
    return _known([_named(item) for item in listing.present]), []


def _known(found: Sequence[Found]) -> list[Found]:
    return once([item for item in found if item.kind is not None or item.name is not None])


def _named(device: Resource) -> Found:
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    return Found(device, kind, name)
