"""What ``metalwright review`` says: what a change of the site repository will do to which nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from metalwright.model.base import Count, Frozen, Slug, Text
from metalwright.model.phase import Phase

Risk = Literal["record", "live", "tests", "drain", "next-image", "match", "firmware", "reboot", "re-image"]
"""What a change does to a running workload, in rising order."""

Part = Literal["patch", "minor", "major"]


class Refusal(Frozen):
    """A rule that the change breaks; ``line`` and ``column`` count from 1, ``None`` when the whole file is meant."""

    rule: str
    file: str
    line: int | None = None
    column: int | None = None
    what: str
    hint: str | None = None


class BlueprintChange(Frozen):
    """One value of a blueprint that differs between two versions; ``None`` is *not set*."""

    blueprint: str
    base: str
    section: str
    path: str
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    risk: Risk
    part: Part
    phase: Phase | None = None
    reboots: int | None = 0


class SiteChange(Frozen):
    """A change outside of blueprints: of a network, a rack, the site, an identity, or a template."""

    section: str
    what: str
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    nodes: Count = 0


class AddressMove(Frozen):
    """An address of a node on one network; ``None``: it has none before, or none after."""

    network: str
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None


class NodeImpact(Frozen):
    """What the change does to one node when it is provisioned.

    ``what`` says it in words; ``phases`` will act. ``reboots`` is ``None`` when it depends on what is on the machine.
    ``gpus_out``: GPUs out of service meanwhile; where it ``leaves`` (quarantined, spare, retired, removed), with the
    merge already and until it is wanted again. ``networks``: those of its networks that change; it keeps what it has
    until it is provisioned again. ``minutes`` and ``state`` come from a snapshot, ``None`` is unknown.
    """

    node: str
    rack: str
    blueprint: str
    base: str | None = None
    what: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()
    reboots: int | None = 0
    reimage: bool = False
    drain: bool = False
    gpus_out: Count = 0
    leaves: bool = False
    addresses: tuple[AddressMove, ...] = ()
    networks: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    minutes: float | None = None
    state: str | None = None


class FileChange(Frozen):
    """A rendered file that differs: a unified diff from ``node``'s, and how many nodes get the like.

    ``written_by``: the phase that puts it on the node; ``image`` waits for the next writing of the disk. ``export``: a
    person does, and it goes to no node; ``path`` is the command that writes it.
    """

    path: str
    written_by: Literal["image", "software", "export"]
    node: str
    nodes: Count
    diff: str


class PolicyResult(Frozen):
    """One named rule of ``inventory/policies.yaml``. ``open``: it needs something that git cannot show."""

    name: str
    verdict: Literal["pass", "fail", "open"]
    why: str


class Review(Frozen):
    """``review --json``."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    base: str
    head: str
    refused: tuple[Refusal, ...] = ()
    changes: tuple[BlueprintChange, ...] = ()
    site: tuple[SiteChange, ...] = ()
    nodes: tuple[NodeImpact, ...] = ()
    gpus_out_at_once: Count = 0
    gpus_leaving: Count = 0
    files: tuple[FileChange, ...] = ()
    policies: tuple[PolicyResult, ...] = ()
    warnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    effect_unknown: bool = Field(default=False, description="one of the two states is not valid")
    observed: datetime | None = None

    @property
    def has_findings(self) -> bool:
        """Whether something is refused, or a policy failed or is open."""
        return bool(self.refused) or any(result.verdict != "pass" for result in self.policies)


class ObservedNode(Frozen):
    """One node of a snapshot, as ``status --json`` prints it; only these fields are read."""

    model_config = ConfigDict(extra="ignore")

    node: Slug
    state: Text
    minutes: Annotated[float, Field(ge=0)] | None = None


class ObservedSnapshot(Frozen):
    """The fleet as it was seen at ``taken``."""

    model_config = ConfigDict(extra="ignore")

    schema_version: Literal[1] = Field(default=1, alias="schema")
    taken: datetime
    nodes: tuple[ObservedNode, ...]
