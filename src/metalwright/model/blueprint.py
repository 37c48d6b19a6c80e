"""A blueprint: the validated server class, one immutable file a released version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from metalwright.model.base import (
    BlueprintRef,
    Frozen,
    Positive,
    SemVer,
    Sha256,
    Slug,
    Text,
    VersionText,
)
from metalwright.model.boot import BootMethod
from metalwright.model.image import OperatingSystem
from metalwright.model.purpose import NetworkPurpose
from metalwright.model.security import Security

LONGEST_DEVICE = 15
"""Letters of a network device's name, as Linux limits them."""

Protocol = Literal["NVMe", "SATA", "SAS", "VIRTIO"]
Agent = Literal["node_exporter", "dcgm_exporter", "amd_metrics_exporter", "disk_metrics", "lldpd"]
"""What watches a node: exporters that Prometheus reads, the health of disks for node_exporter, LLDP."""

KernelArgument = Annotated[str, StringConstraints(pattern=r'^[^\s"\']+$', strict=True)]
"""``iommu=pt``: one word, without quotes."""

SysctlName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_-]+([./][A-Za-z0-9_-]+)+$", strict=True)]
"""``vm.swappiness``, as ``sysctl`` writes it."""

RegistryName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9.-]+(:[0-9]+)?$", strict=True)]
"""``docker.io``, ``registry.lab.test:5000``."""

MirrorUrl = Annotated[str, StringConstraints(pattern=r'^https?://[^\s"]+$', strict=True)]

PinnedContainerImage = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9.-]+(:[0-9]+)?/[a-z0-9._/-]+@sha256:[0-9a-f]{64}$", strict=True)
]
"""``docker.io/library/busybox@sha256:…``: registry, name and digest; a tag may change what it means."""

NUMA_BALANCING = "kernel.numa_balancing"

_TERM = r"(==|>=|<=|>|<)\s*[^\s,|][^,|]*"
VersionConstraint = Annotated[str, StringConstraints(pattern=rf"^{_TERM}([,|]\s*{_TERM})*$", strict=True)]
"""``>=1.4``; terms joined by ``,`` must all hold, of alternatives joined by ``|`` one."""


class ServerClass(Frozen):
    """What the class is for and who answers for it."""

    role: Slug
    owner: Slug
    workloads: tuple[Slug, ...] = ()
    why: Text = ""


class SystemModel(Frozen):
    """Maker and models of the server, as the BMC reports them."""

    manufacturer: Text
    models: tuple[Text, ...] = Field(min_length=1)


class ChassisModel(Frozen):
    """Mechanical facts that a rack needs."""

    height_u: Positive
    airflow: Literal["front-to-back", "back-to-front", "liquid"] = "front-to-back"


class Cpus(Frozen):
    """Populated sockets; ``cores`` a socket. ``numa_nodes`` of the whole machine, as the BIOS divides it."""

    count: Positive
    models: tuple[Text, ...] = ()
    cores: Positive | None = None
    numa_nodes: Positive | None = None


class Memory(Frozen):
    """Host memory in GiB and the number of populated DIMMs. ``ecc``: the kernel must watch it for errors."""

    total_gib: Positive
    dimms: Positive | None = None
    ecc: bool = False


class Gpus(Frozen):
    """GPU packages; memory of one in GiB.

    ``pcie_generation`` and ``pcie_lanes`` of the link of one; ``ecc``: whether its memory must have ECC on (without it:
    on, where the GPU has it).
    """

    count: Positive
    vendor: Literal["nvidia", "amd", "intel"]
    model: Text
    memory_gib: Positive | None = None
    pcie_generation: Positive | None = None
    pcie_lanes: Positive | None = None
    ecc: bool | None = None


class Nics(Frozen):
    """Host ports of one role; ``count`` is ports, ``speed_gbps`` of a port, ``pcie_…`` the link of its adapter."""

    role: Slug
    count: Positive
    speed_gbps: float | None = Field(default=None, gt=0)
    link: Literal["ethernet", "infiniband"] = "ethernet"
    pcie_generation: Positive | None = None
    pcie_lanes: Positive | None = None


class Drives(Frozen):
    """Drives of one role, told apart by size and protocol, never by kernel name."""

    role: Slug
    count: Positive
    min_bytes: Positive
    max_bytes: Positive | None = None
    protocol: Protocol | None = None

    @model_validator(mode="after")
    def _sizes_can_match(self) -> Drives:
        if self.max_bytes is not None and self.max_bytes < self.min_bytes:
            raise ValueError(f"max_bytes {self.max_bytes} is less than min_bytes {self.min_bytes}: no drive matches")
        return self


class Psus(Frozen):
    """Power supplies present."""

    count: Positive
    watts: Positive | None = None
    redundancy: Text | None = None


class Hardware(Frozen):
    """What must be in the box. A section that is left out is not checked."""

    system: SystemModel
    chassis: ChassisModel | None = None
    cpus: Cpus
    memory: Memory
    gpus: Gpus | None = None
    nics: tuple[Nics, ...] = ()
    drives: tuple[Drives, ...] = Field(min_length=1)
    psus: Psus | None = None
    alternates: dict[str, tuple[Text, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_system_drive(self) -> Hardware:
        roles = [group.role for group in self.drives]
        if roles.count("system") != 1:
            raise ValueError("drives need exactly one group with role: system, the disk that the image is written to")
        return self


class PowerBudget(Frozen):
    """Electrical load of one server in watts; inlet limit in °C."""

    idle_w: Positive
    typical_w: Positive
    max_w: Positive
    inlet_max_c: Positive | None = None

    @model_validator(mode="after")
    def _ordered(self) -> PowerBudget:
        if not self.idle_w <= self.typical_w <= self.max_w:
            raise ValueError("power needs idle_w <= typical_w <= max_w")
        return self


class Cable(Frozen):
    """A port of the server and what it is plugged into."""

    port: Text
    to: Text


class BiosProfile(Frozen):
    """Desired attributes, named as the registry of this BIOS version names them."""

    registry: Text
    attributes: dict[str, str | int | bool]


class Boot(Frozen):
    """Boot mode and the ways to boot the deploy ramdisk, best first."""

    mode: Literal["uefi"] = "uefi"
    secure_boot: bool = False
    method: tuple[BootMethod, ...] = Field(default=("virtual-media",), min_length=1)


class NetworkAttachment(Frozen):
    """Which networks the ports of one NIC role join. The first network is untagged, further ones are VLANs on it.

    ``rails``: each port has a network of its own instead, untagged, in the order of the node's ports of that role.
    """

    role: Slug
    networks: tuple[NetworkPurpose, ...] = Field(min_length=1)
    bond: Literal["802.3ad", "active-backup"] | None = None
    mtu: Annotated[int, Field(ge=1280, le=9216)] | None = None
    rails: bool = False

    @model_validator(mode="after")
    def _a_bond_is_one_port(self) -> NetworkAttachment:
        if self.bond is not None and self.rails:
            raise ValueError("rails and a bond exclude each other: a bond makes one port of all")
        if self.bond is not None and len(f"bond-{self.role}") > LONGEST_DEVICE:
            raise ValueError(f"the bond bond-{self.role} has a longer name than the {LONGEST_DEVICE} letters of Linux")
        return self


class ImagePin(Frozen):
    """The image by name, version and digest of the file as served; ``os`` is what is in it."""

    name: Slug
    os: OperatingSystem = "debian-12"
    version: VersionText
    file_sha256: Sha256
    known_good: tuple[VersionText, ...] = ()


class Accelerator(Frozen):
    """Driver stack of the accelerators, all at exact versions.

    ``driver`` is the upstream version of the kernel module's package (``580.95.05``; AMD: ``6.12.12.60401``).
    ``kernel_modules`` is chosen from the table of GPUs when it is left out. ``fabric_manager`` (NVSwitch boards, always
    at the driver's version) and ``subnet_manager`` (boards with NVSwitch of the fourth generation) belong to the board.
    ``cuda`` is the newest CUDA that workloads bring along; ``rocm`` the upstream version of ``rocm-core``.
    """

    vendor: Literal["nvidia", "amd"]
    driver: VersionText
    kernel_modules: Literal["open", "proprietary"] | None = None
    fabric_manager: bool = False
    subnet_manager: VersionText | None = None
    container_toolkit: VersionText | None = None
    dcgm: VersionText | None = None
    cuda: VersionText | None = None
    rocm: VersionText | None = None

    @property
    def vendor_toolkit(self) -> str:
        """The package of the vendor's container toolkit."""
        return f"{self.vendor}-container-toolkit"


class ContainerRuntime(Frozen):
    """Container runtime at an exact version, where it gets images, and which are there beforehand."""

    name: Literal["containerd", "docker"]
    version: VersionText
    mirrors: dict[RegistryName, tuple[MirrorUrl, ...]] = Field(default_factory=dict)
    images: tuple[PinnedContainerImage, ...] = ()

    @model_validator(mode="after")
    def _docker_mirrors_one_registry(self) -> ContainerRuntime:
        others = sorted(set(self.mirrors) - {"docker.io"})
        if self.name == "docker" and others:
            raise ValueError(f"Docker takes mirrors of docker.io alone, not of {', '.join(others)}: use containerd")
        return self


class Software(Frozen):
    """Exact versions on the operating system, and how its kernel runs.

    ``kernel_args`` are added to the image's own and take effect with a restart. ``sysctl`` are further kernel settings
    by name; ``cpu_governor`` is set on every CPU that has one.
    """

    kernel_args: tuple[KernelArgument, ...] = ()
    sysctl: dict[SysctlName, int | Text] = Field(default_factory=dict)
    cpu_governor: Literal["performance", "powersave", "schedutil", "ondemand", "conservative"] | None = None
    numa_balancing: bool | None = Field(
        default=None, description="whether the kernel moves memory between NUMA nodes by itself"
    )
    accelerator: Accelerator | None = None
    container_runtime: ContainerRuntime | None = None
    agents: dict[Agent, VersionText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_place_for_numa_balancing(self) -> Software:
        if self.numa_balancing is not None and NUMA_BALANCING in self.sysctl:
            raise ValueError(f"numa_balancing and sysctl {NUMA_BALANCING} say the same thing twice: keep one")
        return self

    @property
    def kernel_settings(self) -> dict[str, str]:
        """All settings of ``sysctl``, NUMA balancing included, as text."""
        own = {} if self.numa_balancing is None else {NUMA_BALANCING: str(int(self.numa_balancing))}
        return {**{name: str(value) for name, value in self.sysctl.items()}, **own}


class Policy(Frozen):
    """Operating policy: power cap of one GPU in watts, MIG, labels."""

    power_cap_w: Positive | None = None
    mig: Literal["disabled", "enabled"] | None = None
    labels: dict[str, Text] = Field(default_factory=dict)


FleetBand = Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]+)? (%|MAD)$", strict=True)]
"""How far a value may be from the median of its fleet: ``5 %`` of the median, or ``4 MAD`` (robust deviations)."""


class AcceptanceTest(Frozen):
    """One test that must pass before the node is ready. ``floor`` is absolute; ``record`` measures without a floor.

    ``fleet_band`` compares the value with those of the other nodes of the class, both ways. ``seconds``: how long the
    load runs, instead of the test's own time.
    """

    test: Slug
    floor: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    unit: Text | None = None
    fleet_band: FleetBand | None = None
    record: bool = False
    seconds: Annotated[int, Field(ge=1, le=86400, strict=True)] | None = None

    @model_validator(mode="after")
    def _judges_something(self) -> AcceptanceTest:
        if self.floor is None and not self.record:
            raise ValueError(f"acceptance test {self.test} needs a floor, or record: true")
        return self


class Rollback(Frozen):
    """What going back costs, and to which version."""

    previous: SemVer | None = None
    data_loss: Literal["none", "scratch", "all"] = "scratch"
    minutes: Positive | None = None


class Blueprint(Frozen):
    """A versioned, validated server class."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Slug
    version: SemVer
    server_class: ServerClass = Field(alias="class")
    hardware: Hardware
    power: PowerBudget | None = None
    cabling: tuple[Cable, ...] = ()
    firmware: dict[Slug, VersionConstraint] = Field(default_factory=dict)
    firmware_downgrades: tuple[Slug, ...] = Field(default=(), description="components that may go back to an older one")
    bios: BiosProfile | None = None
    boot: Boot = Boot()
    network: tuple[NetworkAttachment, ...] = ()
    image: ImagePin
    software: Software = Software()
    security: Security = Security()
    policy: Policy = Policy()
    acceptance: tuple[AcceptanceTest, ...] = Field(min_length=1)
    rollback: Rollback = Rollback()

    @property
    def ref(self) -> BlueprintRef:
        """``name@version``, as racks write it."""
        return f"{self.name}@{self.version}"

    @property
    def system_drive(self) -> Drives:
        """The one drive group that the image is written to."""
        return next(group for group in self.hardware.drives if group.role == "system")

    @model_validator(mode="after")
    def _attachments_name_nic_roles(self) -> Blueprint:
        roles = {nics.role for nics in self.hardware.nics}
        for attachment in self.network:
            if attachment.role not in roles:
                raise ValueError(
                    f"network role {attachment.role!r} is no role of hardware.nics ({', '.join(sorted(roles))})"
                )
        return self

    @model_validator(mode="after")
    def _open_ports_are_on_networks_that_are_joined(self) -> Blueprint:
        joined = [purpose for attachment in self.network for purpose in attachment.networks]
        for opened in self.security.open_ports:
            if opened.network not in joined:
                raise ValueError(
                    f"security.open_ports are on the {opened.network} network, which no entry of network joins"
                    f" ({', '.join(joined) or 'there is none'})"
                )
        return self
