"""GPU packages, wherever the vendor put them.

Places are asked in this order until one names a GPU: the Processors of the host and of its baseboards, the
PCIe devices of the chassis, HPE's own device list, the graphics controllers. Boards, switches and risers that call
themselves GPU do not count; two dies of one package count once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metalwright.model.report import CANNOT_SEE, Gpu
from metalwright.redfish.inventory import accelerators, quirks
from metalwright.redfish.inventory.accelerators import Accelerator
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.values import natural_key
from metalwright.redfish.inventory.walk import Walk, together


@dataclass(frozen=True)
class _Found:
    """One device that is a GPU: where it is and what is known of its kind."""

    resource: Resource
    kind: Accelerator | None
    name: str | None
    device: Resource | None = None


async def read_gpus(walk: Walk, host: Host) -> tuple[Gpu, ...] | None:
    """GPU packages of the host; ``()`` if the BMC lists its devices and none is a GPU, ``None`` if it is unknown."""
    systems = (host.system, *host.baseboards)
    listings = await together(walk.listing(system.link("Processors")) for system in systems)
    processors = [item for listing in listings for item in listing.resources if _is_gpu_processor(item)]
    hidden = [uri for listing in listings for uri in listing.unreadable if "gpu" in uri.casefold()]
    if processors or hidden:
        found = await together(_of_processor(walk, item) for item in processors if not item.is_absent)
        gpus = [_gpu(item) for item in _with_board_names(_packages(found), host)]
        return _sorted([*gpus, *(Gpu(slot=uri.rstrip("/").rpartition("/")[2]) for uri in hidden)])
    devices = await _devices(walk, host)
    if devices:
        return _sorted([_gpu(item) for item in _packages(devices)])
    if not any(listing.is_known for listing in listings) or host.is_off:
        walk.note(host.system.uri, f"says nothing of GPUs (power state {host.system.raw('PowerState')})")
        return None
    if not any(chassis.raw("PCIeDevices") or chassis.raw("Links", "PCIeDevices") for chassis in host.chassis):
        walk.note(host.system.uri, f"{CANNOT_SEE} gpus other than its processors")
    return ()


def _sorted(gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    return tuple(sorted(gpus, key=lambda gpu: natural_key(gpu.slot)))


def _is_gpu_processor(resource: Resource) -> bool:
    kind = (resource.text("ProcessorType") or "").casefold()
    names = (resource.text("Model"), resource.text("Name"))
    return kind in ("gpu", "accelerator") and not accelerators.is_no_gpu(*names)


async def _of_processor(walk: Walk, processor: Resource) -> _Found:
    """A processor, with its PCIe device where the processor itself does not say which GPU it is."""
    name = _name_of(processor)
    kind = accelerators.by_part_number(processor.identity("PartNumber")) or accelerators.by_name(
        processor.text("Model"), name
    )
    if kind is not None or name is not None:
        return _Found(processor, kind, name)
    device = await walk.resource(processor.link("Links", "PCIeDevice"))
    if device is None:
        return _Found(processor, None, None)
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    return _Found(processor, kind or await _kind_of_functions(walk, device), name, device)


def _name_of(resource: Resource) -> str | None:
    """The property that names the GPU: Model, unless that is a part number and Name is the better one."""
    texts = [text for text in (resource.text("Model"), resource.text("Name")) if text is not None]
    return next((text for text in texts if accelerators.is_gpu_name(text)), None)


async def _devices(walk: Walk, host: Host) -> list[_Found]:
    for place in (_pcie_devices, _hpe_devices, _graphics_controllers):
        found = await place(walk, host)
        if found:
            return found
    return []


async def _pcie_devices(walk: Walk, host: Host) -> list[_Found]:
    listings = await together(walk.listing(chassis.link("PCIeDevices")) for chassis in host.chassis)
    linked = [target for chassis in host.chassis for target in chassis.links("Links", "PCIeDevices")]
    linked += host.system.links("PCIeDevices") if isinstance(host.system.raw("PCIeDevices"), list) else ()
    present = [item for listing in listings for item in listing.present]
    if not present:
        present = list((await walk.linked(linked)).present)
    found = await together(_of_device(walk, device) for device in present)
    return _once([item for item in found if item is not None])


async def _of_device(walk: Walk, device: Resource) -> _Found | None:
    """A PCIe device that is a GPU: by part number, by name, or by the ids of its functions."""
    names = (device.text("Model"), device.text("Name"))
    if accelerators.is_no_gpu(*names):
        return None
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    if kind is None and name is None and _may_be_gpu(device):
        kind = await _kind_of_functions(walk, device)
    return _Found(device, kind, name) if kind is not None or name is not None else None


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


async def _hpe_devices(walk: Walk, host: Host) -> list[_Found]:
    listings = await together(walk.listing(chassis.link(*quirks.HPE_DEVICES)) for chassis in host.chassis)
    found = [
        _named(device)
        for listing in listings
        for device in listing.present
        if (device.text("DeviceType") or "").casefold() == "gpu" and not accelerators.is_no_gpu(device.text("Name"))
    ]
    return _once([item for item in found if item.kind is not None or item.name is not None])


async def _graphics_controllers(walk: Walk, host: Host) -> list[_Found]:
    """Only known GPUs: every BMC has a graphics controller of its own."""
    listing = await walk.listing(host.system.link("GraphicsControllers"))
    found = [_named(item) for item in listing.present]
    return _once([item for item in found if item.kind is not None or item.name is not None])


def _named(device: Resource) -> _Found:
    name = _name_of(device)
    kind = accelerators.by_part_number(device.identity("PartNumber")) or accelerators.by_name(name)
    return _Found(device, kind, name)


def _once(found: Sequence[_Found]) -> list[_Found]:
    """One entry a serial number: a device can be served below Systems and below Chassis."""
    unique: dict[object, _Found] = {}
    for item in found:
        unique.setdefault(item.resource.identity("SerialNumber") or (item.resource.id, item.resource.uri), item)
    return list(unique.values())


def _packages(found: Sequence[_Found]) -> list[_Found]:
    """Join the dies of packages that show as several processors.

    The dies of one package repeat its Name (Cray EX235a: GPU0 and GPU1 are both *GPU 0*); where names do not repeat
    that way, dies are joined in order. A nameless processor among dies is one of them.
    """
    kinds = {item.kind for item in found if item.kind is not None}
    if len(kinds) == 1 and next(iter(kinds)).dies > 1:
        (only,) = kinds
        found = [item if item.kind is not None or item.name is not None else replace(item, kind=only) for item in found]
    whole = [item for item in found if item.kind is None or item.kind.dies == 1]
    dies = sorted(
        (item for item in found if item.kind is not None and item.kind.dies > 1),
        key=lambda item: natural_key(item.resource.id),
    )
    if not dies:
        return whole
    kind = dies[0].kind
    size = kind.dies if kind is not None else 1
    serials = {item.resource.identity("SerialNumber") for item in dies} - {None}
    names = Counter(item.resource.text("Name") for item in dies)
    if len(serials) == len(dies):
        return [*whole, *dies]
    if set(names.values()) == {size}:
        first = {item.resource.text("Name"): item for item in reversed(dies)}
        return [*whole, *first.values()]
    return [*whole, *dies[::size]]


def _with_board_names(found: Sequence[_Found], host: Host) -> list[_Found]:
    """Name nameless GPUs after the superchip board that carries them."""
    boards = [system.text("Model") for system in (*host.baseboards, host.system)]
    board = next((kind for kind in map(accelerators.by_board, boards) if kind is not None), None)
    if board is None:
        return list(found)
    named = []
    for item in found:
        if item.kind is None and item.name is None:
            item.resource.note(
                item.resource.uri, f"has no model: taken as {board.model} from the board that carries it"
            )
            item = replace(item, kind=board)
        named.append(item)
    return named


def _gpu(item: _Found) -> Gpu:
    resource, kind = item.resource, item.kind
    resource.note_health()
    memory_mib = resource.positive("MemorySummary", "TotalMemorySizeMiB")
    model = kind.model if kind is not None else item.name
    if model is None:
        resource.note(resource.uri, "has no model")
    return Gpu(
        slot=_slot(item),
        manufacturer=kind.manufacturer if kind is not None else resource.text("Manufacturer"),
        model=model,
        memory_gib=kind.memory_gib
        if kind is not None and kind.memory_gib is not None
        else (memory_mib / 1024 if memory_mib else accelerators.memory_of_name(item.name)),
        serial=resource.identity("SerialNumber"),
        firmware_version=_firmware(resource) or (_firmware(item.device) if item.device is not None else None),
    )


def _slot(item: _Found) -> str:
    """The label of the slot; the id where labels repeat on every module (GB200: *GPU_0* twice)."""
    resource = item.resource
    if resource.text("Location", "PartLocationContext") is not None:
        return resource.id
    if isinstance(resource.raw("Location"), str):
        return resource.text("Location") or resource.id
    return item.device.slot if item.device is not None else resource.slot


def _firmware(resource: Resource) -> str | None:
    version = resource.raw("FirmwareVersion")
    if isinstance(version, str):
        return resource.text("FirmwareVersion")
    return resource.text("FirmwareVersion", "Current", "VersionString")
