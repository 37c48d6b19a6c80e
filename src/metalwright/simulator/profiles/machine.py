"""What a profile says of a machine, as its YAML file is written, and how its vendor's BMC arranges it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cpus(_Data):
    """All sockets alike."""

    count: int
    manufacturer: str
    model: str
    architecture: Literal["x86", "ARM"] = "x86"
    cores: int
    threads: int
    max_mhz: int


class Dimms(_Data):
    """``count`` populated of ``slots``, filled from the first; ``channel`` is how many slots share a letter."""

    count: int
    slots: int
    size_gib: int
    manufacturer: str
    part_number: str
    type: str = "DDR5"
    speed_mts: int = 4800
    channel: int = 2


class Gpus(_Data):
    """All packages alike; ``first_slot`` numbers them.

    ``known_as`` and ``maker`` are how everybody else calls them, where the BMC writes it differently.
    """

    count: int
    manufacturer: str
    model: str
    memory_gib: int
    part_number: str
    firmware: str
    vendor_id: str = "0x10de"
    device_id: str = "0x2330"
    first_slot: int = 1
    known_as: str = ""
    maker: str = ""


class Nics(_Data):
    """``count`` adapters alike with ``ports`` each."""

    count: int
    ports: int
    manufacturer: str
    model: str
    part_number: str
    firmware: str
    speed_gbps: int
    link: Literal["Ethernet", "InfiniBand"] = "Ethernet"
    onboard: bool = False


class Drives(_Data):
    """``count`` drives alike."""

    count: int
    manufacturer: str
    model: str
    protocol: Literal["NVMe", "SATA", "SAS"] = "NVMe"
    media: Literal["SSD", "HDD"] = "SSD"
    size_bytes: int
    firmware: str = "1.0.0"


class Psus(_Data):
    """``count`` supplies alike and ``absent`` empty bays."""

    count: int
    absent: int = 0
    manufacturer: str
    model: str
    watts: int


class Media(_Data):
    """Virtual media slots under a system or a manager; without ``actions`` they are patched."""

    owner: Literal["Systems", "Managers"] = "Managers"
    slots: tuple[str, ...] = ("CD1",)
    actions: bool = True


class Consoles(_Data):
    """Ways to the serial console: the system's own, and what the manager lists for its two kinds of shell."""

    system: dict[str, dict[str, Any]] = {}
    serial: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()


class Style(_Data):
    """How a vendor's BMC arranges things. Texts with braces are formats: ``{n}`` from 1, ``{z}`` from 0.

    ``gpus`` says where GPUs are: ``processors``, ``pcie`` (PCIe devices of the chassis), ``hpe-devices``, or
    ``baseboard`` (a second system). ``power`` says where power supplies are: ``legacy`` (Power), ``subsystem``, both.
    """

    vendor: str
    system: str = "1"
    chassis: str = "1"
    manager: str = "1"
    slash: str = ""
    bios: str = "Bios"
    settings: str = "Settings"
    settings_full: bool = False
    apply_times: tuple[str, ...] = ("OnReset",)
    registry: str = "BiosAttributeRegistry"
    jobs: bool = False
    media: Media = Media()
    cpu: str = "{n}"
    cpu_socket: str = "CPU {n}"
    dimm: str = "{n}"
    dimm_locator: str = "P{socket}-DIMM{letter}{index}"
    gpus: Literal["processors", "pcie", "hpe-devices", "baseboard"] = "processors"
    gpu: str = "GPU{n}"
    adapter: str = "{n}"
    port: str = "{n}"
    interface: str = "{n}"
    storage: str = "1"
    drive: str = "Disk.Bay.{z}"
    drive_bay: str = "Bay {n}"
    psu: str = "{n}"
    psu_name: str = "Power Supply {n}"
    power: tuple[Literal["legacy", "subsystem"], ...] = ("legacy",)
    fan: str = "FAN{n}"
    firmware_bmc: str = "BMC"
    firmware_bios: str = "BIOS"
    firmware_gpu: str = "GPU{n}"
    firmware_nic: str = "NIC{n}"
    firmware_psu: str = "PSU{n}"
    firmware_drive: str = ""
    system_log: str = "Log1"
    manager_log: str = "Log1"
    reset_types: tuple[str, ...] = ("On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi")
    boot_targets: tuple[str, ...] = ("None", "Pxe", "Hdd", "Cd", "UsbCd", "BiosSetup")
    led: Literal["IndicatorLED", "LocationIndicatorActive"] = "IndicatorLED"
    account_slots: int = 0
    certificates: Literal["csr", "key", "none"] = "csr"
    max_sessions: int = 16
    task_prefix: str = ""
    push: tuple[Literal["HttpPushUri", "MultipartHttpPushUri"], ...] = ("MultipartHttpPushUri",)
    consoles: Consoles = Consoles()


class BmcFacts(_Data):
    """The BMC: its login from the factory and what it says of itself."""

    user: str
    password: str
    manufacturer: str
    model: str
    firmware: str
    redfish: str = "1.17.0"


class SystemFacts(_Data):
    """The host system."""

    manufacturer: str
    model: str
    sku: str
    part_number: str
    bios_version: str


class ChassisFacts(_Data):
    """The enclosure."""

    manufacturer: str
    model: str
    part_number: str
    type: str = "RackMount"
    height_mm: float = 88.9


class MachineData(_Data):
    """One profile. ``fans``, ``temperatures`` and ``voltages`` are numbers of sensors.

    ``firmware`` are further members of the firmware inventory; ``bios`` names the set of attributes (default: that of
    the style), ``bios_values`` what this machine has instead of their defaults.
    """

    summary: str
    style: str
    serial_prefix: str
    oui: str
    bmc: BmcFacts
    system: SystemFacts | None
    chassis: ChassisFacts
    cpus: Cpus | None = None
    dimms: Dimms | None = None
    gpus: Gpus | None = None
    nics: tuple[Nics, ...] = ()
    drives: tuple[Drives, ...] = ()
    psus: Psus | None = None
    fans: int = 8
    temperatures: int = 20
    voltages: int = 12
    firmware: dict[str, str] = {}
    bios: str = ""
    bios_values: dict[str, Any] = Field(default_factory=dict)
