"""What a simulated machine is made of, as people write it in a lab file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from metalwright.errors import LabError
from metalwright.simulator.files import read_given_text

GIB = 1024**3


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DiskSpec(_Spec):
    """One disk; ``note`` is for people (for example its role) and never shown by the BMC."""

    serial: str
    size_bytes: int = Field(gt=0)
    model: str = "QEMU NVMe Ctrl"
    protocol: Literal["NVMe", "SATA"] = "NVMe"
    note: str = ""


class ForwardSpec(_Spec):
    """A TCP port of the lab that leads into the guest: ``listen`` is ``address:port``."""

    listen: str
    guest_port: int = 22


class NicSpec(_Spec):
    """One network port of the host on QEMU's user network; ``guest`` is the address that forwards lead to.

    ``tftp_root`` is a directory that QEMU's own DHCP server offers over TFTP, and ``bootfile`` the program in it that
    a PXE boot starts. With ``tap``, the name of a network device of this machine, the port is on that instead, and
    whatever listens there is the node's network. On the memory back end ``ipxe_script`` is the URL that DHCP would
    name to iPXE.
    """

    mac: str
    model: Literal["virtio-net-pci", "e1000e"] = "virtio-net-pci"
    net: str = "10.1.0.0/24"
    host: str = "10.1.0.2"
    guest: str | None = None
    forwards: tuple[ForwardSpec, ...] = ()
    tftp_root: str | None = None
    bootfile: str | None = None
    tap: str | None = None
    ipxe_script: str | None = None


class BmcSpec(_Spec):
    """The BMC as it comes from the factory; ``address`` is the one that DHCP gave it, port 0 takes a free one."""

    address: str = "127.0.0.1"
    port: int = 0
    macs: tuple[str, ...] = ("52:54:00:bc:00:01",)
    user: str = "admin"
    password: SecretStr = SecretStr("factory-secret")
    must_change_password: bool = False
    manufacturer: str = "metalwright"
    model: str = "Lab BMC"
    min_password_length: int = 8
    max_password_length: int = 20
    lockout_threshold: int = 5
    lockout_s: int = 60
    account_slots: int = Field(default=0, ge=0)
    """Fixed account slots of which the first is reserved; POST is then refused. 0: accounts are made and removed."""
    has_missing_slot: bool = True
    """One of the fixed slots is listed and cannot be read, as seen at real BMCs."""
    is_password_cut: bool = False
    """Longer passwords than ``max_password_length`` are accepted, and only their beginning counts."""
    is_clock_from_ntp: bool = False
    """NTP works: it corrects the clock, and ``DateTime`` is refused while it is on."""
    certificates: Literal["csr", "key", "none"] = "csr"
    """How its certificate can be replaced: with a key that it makes, with a key that is sent along, not at all."""
    oem: Literal["", "dell", "supermicro", "hpe"] = ""
    """Whose OEM settings (lockdown, syslog) the manager offers."""
    has_virtual_cd: bool = True
    """Without one, the ramdisk has to come over the network."""
    boot_targets: tuple[Literal["None", "Cd", "Hdd", "UefiHttp", "Pxe"], ...] = ("None", "Cd", "Hdd")
    """What the boot override takes."""
    max_sessions: int = 16
    session_timeout_s: int = 1800


class MachineSpec(_Spec):
    """One server. ``boot_command`` and ``disk_boot_command`` count for the memory back end only.

    Both are argument lists; ``{media}``, ``{machine_dir}`` and ``{machine}`` (a JSON file that describes the
    hardware) are replaced, and an element ``{disks}`` becomes one argument per disk.
    """

    name: str = "lab-1"
    serial: str = "LAB0001"
    uuid: str = "6d657461-6c77-4269-8000-000000000001"
    manufacturer: str = "metalwright"
    model: str = "Lab VM"
    sku: str = "LAB-VM"
    part_number: str = "LAB-VM-A"
    bmc: BmcSpec = BmcSpec()
    backend: Literal["memory", "qemu"] = "memory"
    cpus: int = Field(default=1, ge=1)
    memory_mib: int = Field(default=512, ge=64)
    disks: tuple[DiskSpec, ...] = (DiskSpec(serial="LABDISK0001", size_bytes=GIB),)
    nics: tuple[NicSpec, ...] = (NicSpec(mac="52:54:00:1a:00:01"),)
    firmware: dict[str, str] = {"BMC": "1.0.0", "BIOS": "1.0.0"}
    bios_attributes: dict[str, str | int | bool] = {}
    boot_command: tuple[str, ...] = ()
    disk_boot_command: tuple[str, ...] = ()


class LabSpec(_Spec):
    """A lab: machines with names of their own."""

    name: str = "lab"
    machines: tuple[MachineSpec, ...]


def read_lab_spec(path: Path) -> LabSpec:
    """Read a lab file (YAML or JSON); raises :class:`LabError` naming the file and the field."""
    try:
        data: Any = YAML(typ="safe").load(read_given_text(path, "lab file"))
        spec = LabSpec.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise LabError("the lab file is not valid", where=f"{path}: {field}", found=first["msg"]) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise LabError("the lab file cannot be read", where=str(path), found=str(error)) from error
    names = [machine.name for machine in spec.machines]
    if len(set(names)) != len(names):
        raise LabError("two machines share a name", where=str(path), found=", ".join(sorted(names)))
    return spec


def dump_lab_spec(spec: LabSpec) -> dict[str, Any]:
    """Plain JSON data of a spec, factory passwords included: for a file with mode 0600."""
    data: dict[str, Any] = spec.model_dump(mode="json")
    for machine, plain in zip(spec.machines, data["machines"], strict=True):
        plain["bmc"]["password"] = machine.bmc.password.get_secret_value()
    return data
