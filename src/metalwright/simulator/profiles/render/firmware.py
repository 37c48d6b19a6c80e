"""UpdateService and the firmware inventory."""

from __future__ import annotations

from metalwright.simulator.profiles.book import OK, ROOT
from metalwright.simulator.profiles.render.frame import Frame, Json, numbered

SERVICE = f"{ROOT}/UpdateService"
_INVENTORY = f"{SERVICE}/FirmwareInventory"


def items(frame: Frame) -> dict[str, tuple[str, str, str]]:
    """Id → name, version, path of what it belongs to ("": nothing in particular)."""
    style, data = frame.style, frame.data
    found = {style.firmware_bmc: ("BMC firmware", data.bmc.firmware, frame.manager)}
    if data.system is not None:
        found[numbered(style.firmware_bios, 1)] = ("System BIOS", data.system.bios_version, frame.system)
    for number in range(1, data.gpus.count + 1) if data.gpus else ():
        slot = data.gpus.first_slot + number - 1 if data.gpus else number
        found[numbered(style.firmware_gpu, slot)] = ("GPU firmware", data.gpus.firmware if data.gpus else "", "")
    for number, kind in frame.adapters():
        adapter = f"{frame.chassis}/NetworkAdapters/{numbered(style.adapter, number)}"
        found[numbered(style.firmware_nic, number)] = (kind.model, kind.firmware, adapter)
    for number in range(1, data.psus.count + 1) if data.psus else ():
        found[numbered(style.firmware_psu, number)] = ("Power supply firmware", "1.01", "")
    for number, drive in frame.drives() if style.firmware_drive else ():
        found[numbered(style.firmware_drive, number)] = (drive.model, drive.firmware, "")
    return found | {name: (name.replace("_", " "), version, "") for name, version in data.firmware.items()}


def write(frame: Frame) -> None:
    """The service and one resource for each item."""
    book, members = frame.book, []
    for identity, (name, version, owner) in items(frame).items():
        body: Json = {"Version": version, "Updateable": True, "Status": OK}
        if owner:
            body["RelatedItem"] = [book.link(owner)]
            body["RelatedItem@odata.count"] = 1
        members.append(book.add(f"{_INVENTORY}/{identity}", "SoftwareInventory", name, body))
    book.collect(_INVENTORY, "SoftwareInventory", members, "Firmware inventory")
    pushes: dict[str, str] = {
        name: f"{SERVICE}/{'update-multipart' if 'Multi' in name else 'update'}" for name in map(str, frame.style.push)
    }
    book.add(
        SERVICE,
        "UpdateService",
        "Update service",
        {
            "ServiceEnabled": True,
            "Status": OK,
            **pushes,
            "FirmwareInventory": book.link(_INVENTORY),
            "Actions": {
                "#UpdateService.SimpleUpdate": {
                    "target": f"{SERVICE}/Actions/UpdateService.SimpleUpdate",
                    "TransferProtocol@Redfish.AllowableValues": ["HTTP", "HTTPS"],
                }
            },
        },
    )
