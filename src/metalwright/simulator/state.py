"""What a machine remembers when its power is cut or the lab is stopped."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from metalwright.errors import LabError

BiosValue = str | int | bool


class StaticAddress(BaseModel):
    """One IPv4 address as Redfish writes it, in our names."""

    address: str
    netmask: str = "255.255.255.0"
    gateway: str = "0.0.0.0"  # noqa: S104 - "no gateway", not a listening address


class Account(BaseModel):
    """One BMC account; the password is kept as a salted digest."""

    id: str
    user: str
    salt: str
    digest: str
    role: Literal["Administrator", "Operator", "ReadOnly"] = "Administrator"
    enabled: bool = True
    must_change: bool = False
    failures: int = 0
    locked_until: float = 0.0


class BootOverride(BaseModel):
    """The boot source override of ``ComputerSystem.Boot``; ``http_uri`` stays when the override is used up."""

    target: str = "None"
    enabled: Literal["Disabled", "Once", "Continuous"] = "Disabled"
    mode: Literal["UEFI", "Legacy"] = "UEFI"
    http_uri: str = ""


class Media(BaseModel):
    """What is in the virtual CD drive; ``path`` is the local copy. Empty strings: nothing."""

    image: str = ""
    path: str = ""
    sha256: str = ""
    write_protected: bool = True


class Boot(BaseModel):
    """One boot that the firmware really started: from what, and when."""

    device: str
    medium: str
    at: str


class Job(BaseModel):
    """One entry of the job queue (Dell's); a BIOS job brings pending attributes into force at the next reset."""

    id: str
    name: str = "ConfigBIOS:BIOS.Setup.1-1"
    kind: str = "BIOSConfiguration"
    state: str = "Scheduled"
    started: str = ""
    is_deletable: bool = True


class ManagerSettings(BaseModel):
    """Settings of the BMC itself."""

    hostname: str = ""
    dhcp: bool = True
    static: list[StaticAddress] = Field(default_factory=list)
    ntp_enabled: bool = False
    ntp_servers: list[str] = Field(default_factory=list)
    ipmi_enabled: bool = True
    ssh_enabled: bool = True
    http_enabled: bool = True
    clock_offset_s: float = 0.0
    is_locked: bool = False
    syslog_servers: list[str] = Field(default_factory=list)


class MachineState(BaseModel):
    """Everything that survives: one JSON file per machine."""

    service_uuid: str = Field(default_factory=lambda: str(uuid.uuid4()))
    manager: ManagerSettings = Field(default_factory=ManagerSettings)
    accounts: list[Account] = Field(default_factory=list)
    lockout_threshold: int | None = None
    lockout_s: int | None = None
    bios: dict[str, BiosValue] = Field(default_factory=dict)
    bios_pending: dict[str, BiosValue] = Field(default_factory=dict)
    bios_applied_at: str | None = None
    jobs: list[Job] = Field(default_factory=list)
    override: BootOverride = Field(default_factory=BootOverride)
    boot_order: list[str] = Field(default_factory=list)
    boots: list[Boot] = Field(default_factory=list)
    power_ons: int = 0
    last_reset_at: str | None = None
    media: Media = Field(default_factory=Media)
    asset_tag: str = ""
    is_located: bool = False
    firmware: dict[str, str] = Field(default_factory=dict)
    firmware_staged: dict[str, str] = Field(default_factory=dict)


class StateFile:
    """A :class:`MachineState` bound to its file (None: to none); :meth:`save` replaces the file in one step."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.is_new = path is None or not path.exists()
        self.state = MachineState() if path is None or self.is_new else _read(path)

    def save(self) -> None:
        """Write the state beside the old one, then rename."""
        if self.path is None:
            return
        draft = self.path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(self.state.model_dump_json(indent=1))
        draft.replace(self.path)


def _read(path: Path) -> MachineState:
    try:
        return MachineState.model_validate_json(path.read_text(encoding="utf-8"))
    except ValidationError as error:
        raise LabError(
            "the state of a machine cannot be read",
            where=str(path),
            found=str(error.errors(include_input=False)[0]["msg"]),
            hint="`lab down --wipe` removes all state of the lab",
        ) from error
