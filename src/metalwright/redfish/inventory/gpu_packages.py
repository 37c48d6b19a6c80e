"""From devices that are GPUs to GPU packages: each once, dies joined, nameless ones named after their board. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from metalwright.model.report import Gpu
from metalwright.redfish.inventory import accelerators
from metalwright.redfish.inventory.accelerators import Accelerator
from metalwright.redfish.inventory.estate import Host
from metalwright.redfish.inventory.resource import Resource
from metalwright.redfish.inventory.values import natural_key


@dataclass(frozen=True)
class Found:
    """One device that is a GPU: where it is and what is known of its kind."""

    resource: Resource
    kind: Accelerator | None
    name: str | None
    device: Resource | None = None


def once(found: Sequence[Found]) -> list[Found]:
    """One entry a serial number: a device can be served below Systems and below Chassis."""
    unique: dict[object, Found] = {}
    for item in found:
        unique.setdefault(item.resource.identity("SerialNumber") or (item.resource.id, item.resource.uri), item)
    return list(unique.values())


def packages(found: Sequence[Found]) -> list[Found]:
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


def with_board_names(found: Sequence[Found], host: Host) -> list[Found]:
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


def gpu_of(item: Found) -> Gpu:
    """The report's entry."""
    resource, kind = item.resource, item.kind
    resource.note_health()
    model = kind.model if kind is not None else item.name
    memory_gib = _memory_gib(item)
    resource.note_unknown(model=model, memory_gib=memory_gib)
    return Gpu(
        slot=_slot(item),
        manufacturer=kind.manufacturer if kind is not None else resource.text("Manufacturer"),
        model=model,
        memory_gib=memory_gib,
        serial=resource.identity("SerialNumber"),
        firmware_version=_firmware(resource) or (_firmware(item.device) if item.device is not None else None),
    )


def _memory_gib(item: Found) -> float | None:
    """That of the kind, else what the resource tells, else what the name tells."""
    if item.kind is not None and item.kind.memory_gib is not None:
        return item.kind.memory_gib
    memory_mib = item.resource.positive("MemorySummary", "TotalMemorySizeMiB")
    return memory_mib / 1024 if memory_mib else accelerators.memory_of_name(item.name)


def _slot(item: Found) -> str:
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
