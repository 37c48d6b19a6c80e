"""The agent's own view of the protocol's messages (see ``metalwright.model.agent_protocol``), without pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]
Stamp = Mapping[str, Any]


class Identity(NamedTuple):
    """Who this machine is; ``None`` is unknown. MACs are lower case with colons."""

    serial: str | None
    uuid: str | None
    macs: tuple[str, ...]


class Membership(NamedTuple):
    """The disk, or a partition of it, belongs to something that other disks may belong to as well.

    ``what`` names it for people; disks with the same ``group`` belong together, ``None`` is not known.
    """

    what: str
    group: str | None
    is_whole_disk: bool


class DiskContent(NamedTuple):
    """``state`` is ``blank``, ``ours`` or ``foreign``; ``summary`` says in words what was found."""

    state: str
    summary: tuple[str, ...]
    stamp: Stamp | None
    memberships: tuple[Membership, ...] = ()

    def to_json(self) -> Json:
        """Return the protocol's ``DiskContent``."""
        return {"state": self.state, "summary": self.summary, "stamp": self.stamp}


class Disk(NamedTuple):
    """One disk of this machine."""

    path: str
    serial: str | None
    wwn: str | None
    model: str | None
    size_bytes: int
    protocol: str | None
    read_only: bool
    removable: bool
    content: DiskContent

    def to_json(self) -> Json:
        """Return the protocol's ``Disk``."""
        return {**self._asdict(), "content": self.content.to_json()}

    def describe(self) -> str:
        """Return one line for people."""
        content = self.content.state + (f" ({'; '.join(self.content.summary)})" if self.content.summary else "")
        flags = ", read-only" * self.read_only + ", removable" * self.removable
        return (
            f"{self.path} serial {self.serial} wwn {self.wwn} {self.size_bytes} bytes {self.protocol}{flags}: {content}"
        )


class Network(NamedTuple):
    """The one port to use: its MAC, ``address`` with prefix length, and the gateway."""

    mac: str
    address: str
    gateway: str | None


class Expect(NamedTuple):
    """The declared identity."""

    keys: tuple[str, ...]
    serial: str | None
    uuid: str | None
    macs: tuple[str, ...]


class Image(NamedTuple):
    """The image: digests of the file as served and of its raw content; chunk digests are those of the file."""

    name: str
    version: str
    url: str
    format: str
    file_sha256: str
    file_size_bytes: int
    content_sha256: str
    content_size_bytes: int
    chunk_bytes: int
    chunk_sha256: tuple[str, ...]


class DiskRule(NamedTuple):
    """Which disk is the target."""

    role: str
    serial: str | None
    wwn: str | None
    min_bytes: int
    max_bytes: int | None
    protocol: str | None


class SeedFile(NamedTuple):
    """A file of the new root file system; ``mode`` is octal text."""

    path: str
    mode: str
    text: str


class Seed(NamedTuple):
    """What makes the image this node."""

    hostname: str
    fqdn: str
    machine_id: str | None
    files: tuple[SeedFile, ...]


class Task(NamedTuple):
    """What the boot server wants written. ``wipe`` are the serials of the disks to erase before: all or none."""

    run: str
    node: str
    expect: Expect
    image: Image
    disk: DiskRule
    overwrite: bool
    stamp: Stamp
    seed: Seed
    ssh_host_key: bool
    wipe: tuple[str, ...] = ()


def task_from_json(data: Json) -> Task:
    """Build a :class:`Task` from the server's answer; ``KeyError`` or ``TypeError`` when it is not one."""
    expect, image, seed = data["expect"], data["image"], data["seed"]
    return Task(
        run=data["run"],
        node=data["node"],
        expect=Expect(tuple(expect["keys"]), expect.get("serial"), expect.get("uuid"), tuple(expect.get("macs", ()))),
        image=Image(**{**image, "chunk_sha256": tuple(image["chunk_sha256"])}),
        disk=DiskRule(**data["disk"]),
        overwrite=data["overwrite"],
        stamp=data["stamp"],
        seed=Seed(
            seed["hostname"], seed["fqdn"], seed["machine_id"], tuple(SeedFile(**file) for file in seed["files"])
        ),
        ssh_host_key=data["ssh_host_key"],
        wipe=tuple(data.get("wipe", ())),
    )
