"""Racks and what is in them: what the technician racked and what the reviewer wants it to be."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from metalwright.model.base import Address, BlueprintRef, Frozen, Mac, Positive, Slug, Text, Uuid, is_filler
from metalwright.model.purpose import NetworkPurpose
from metalwright.model.site import Port

Fingerprint = Annotated[
    str, StringConstraints(pattern=r"^(sha256:)?[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$", strict=True)
]
"""The SHA-256 of a certificate, with or without colons."""

IdentityKey = Literal["serial", "uuid", "bmc_mac"]
WantedState = Literal["ready", "spare", "held", "quarantined", "retired"]


class PowerFeed(Frozen):
    """One electrical feed; ``derating`` is the share of the breaker that may be used continuously."""

    name: Slug
    volts: Positive
    phases: Literal[1, 3] = 1
    breaker_a: Positive
    derating: float = Field(default=0.8, gt=0, le=1)

    @property
    def usable_w(self) -> float:
        """Continuous load in watts that the feed may carry."""
        factor = 3**0.5 if self.phases == 3 else 1.0
        return self.volts * self.breaker_a * factor * self.derating

    @property
    def usable_phase_w(self) -> float:
        """Continuous load in watts that one phase may carry: a third of a feed with three."""
        return self.usable_w / self.phases


Line = Literal["L1", "L2", "L3"]
PHASES_OF_FEED: dict[int, tuple[str, ...]] = {1: ("L1",), 3: ("L1", "L2", "L3")}


class PowerCord(Frozen):
    """A power cord of a node: the feed that it hangs on, and for one with three phases the phase of its outlet.

    Without ``phase`` the load is taken to be balanced over the phases.
    """

    feed: Slug
    phase: Line | None = None


class Switch(Frozen):
    """A switch in the rack; ``ports`` names the ports that nodes use."""

    name: Slug
    role: Literal["leaf", "management", "fabric"]
    ports: tuple[Text, ...] = ()


class DiskChoice(Frozen):
    """The system disk named by serial or WWN, for nodes whose drives look alike."""

    serial: Text | None = None
    wwn: Text | None = None

    @model_validator(mode="after")
    def _names_a_disk(self) -> DiskChoice:
        if self.serial is None and self.wwn is None:
            raise ValueError("system_disk needs a serial or a wwn; kernel names such as /dev/sda change at each boot")
        return self


class NodePort(Frozen):
    """A physical host port by MAC address and the role it plays."""

    mac: Mac
    role: Slug


class Attested(Frozen):
    """What a person saw in the machine, for what neither BMC nor operating system tells; ``psu_watts`` of one supply.

    It counts only where the BMC is silent: a BMC that tells is believed before the rack file.
    """

    psus: Positive | None = None
    psu_watts: Positive | None = None


class SshAccess(Frozen):
    """Where SSH to this node really goes, when that is not its own address (jump host, port forward)."""

    host: Text
    port: Port = 22


class Racked(Frozen):
    """What has a BMC in a rack. ``identity`` lists the keys that count; at least two of them, none a filler.

    ``bmc_address`` and ``bmc_port`` say where its BMC answers as racked, before it gets its own address.
    ``bmc_fingerprint`` is the SHA-256 of the certificate that its BMC shows as racked: with it no first use is trusted.
    A certificate pinned later counts more.
    """

    name: Slug
    unit: Positive | None = None
    serial: Text | None = None
    uuid: Uuid | None = None
    bmc_mac: Mac | None = None
    identity: tuple[IdentityKey, ...] = ("serial", "uuid", "bmc_mac")
    bmc_address: Address | None = None
    bmc_port: Port | None = None
    bmc_fingerprint: Fingerprint | None = None

    @model_validator(mode="before")
    @classmethod
    def _identity_defaults_to_what_is_given(cls, data: object) -> object:
        if isinstance(data, dict) and "identity" not in data:
            given = tuple(key for key in ("serial", "uuid", "bmc_mac") if data.get(key) is not None)
            return {**data, "identity": given}
        return data

    @model_validator(mode="after")
    def _identity_can_be_checked(self) -> Self:
        if len(set(self.identity)) < 2:
            raise ValueError(f"{self._kind} {self.name} needs at least two identity keys out of serial, uuid, bmc_mac")
        for key in self.identity:
            if is_filler(getattr(self, key)):
                raise ValueError(
                    f"{self._kind} {self.name}: identity key {key} has no usable value ({getattr(self, key)!r})"
                )
        return self

    @property
    def _kind(self) -> str:
        return "node"


EquipmentKind = Literal["power-shelf", "switch", "dpu", "other"]


class Equipment(Racked):
    """A BMC without a host: a power shelf, a switch. It is found, gets a login and is hardened; it is no node.

    ``serial`` is that of its chassis, ``uuid`` that of its service root.
    """

    kind: EquipmentKind = "other"

    @property
    def _kind(self) -> str:
        return "equipment"


class Node(Racked):
    """One racked server.

    ``addresses`` pins addresses by network purpose; what is not pinned is allocated.
    ``cords`` say on which feeds and phases the server hangs; they share its load equally.
    ``customer`` is whose data the node holds: when it changes, all disks are erased with proof before the next write.
    """

    blueprint: BlueprintRef
    state: WantedState = "ready"
    addresses: dict[NetworkPurpose, Address] = Field(default_factory=dict)
    system_disk: DiskChoice | None = None
    ports: tuple[NodePort, ...] = ()
    cords: tuple[PowerCord, ...] = ()
    attested: Attested = Attested()
    customer: Slug | None = None
    ssh: SshAccess | None = None

    def recipe_inputs(self) -> dict[str, Any]:
        """What of the entry makes the node what it is; where its cords hang changes nothing on the machine."""
        return {key: value for key, value in self.to_json().items() if key != "cords"}


class Rack(Frozen):
    """``inventory/racks/<rack>.yaml``."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Slug
    site: Slug
    position: Text = ""
    height_u: Positive = 42
    feeds: tuple[PowerFeed, ...] = ()
    cooling_kw: float | None = Field(default=None, gt=0)
    switches: tuple[Switch, ...] = ()
    nodes: tuple[Node, ...] = ()
    equipment: tuple[Equipment, ...] = ()
