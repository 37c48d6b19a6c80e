"""What must be true before a connection writes: the lock is ours, the machine is the declared one, a grant exists.

The guard lives in the connector, so that plain pyinfra obeys it as well. Identity and lock are checked once in a
connection, before its first write; a grant before every destructive command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from metalwright.connectors.commands import Command, is_destructive
from metalwright.errors import BmcAnswerError, BmcAuthError, GrantError, IdentityError
from metalwright.model.base import is_filler, normal_mac, uuid_forms
from metalwright.model.rack import Equipment, Node, Racked
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.links import Topology, find


class Guard(Protocol):
    """Asked before every write; raises a MetalwrightError to refuse it, and then nothing is sent."""

    def before_write(self, client: BlockingClient, topology: Topology, command: Command) -> None:
        """Allow ``command`` or raise."""

    def before_disconnect(self, client: BlockingClient) -> None:
        """The connection is about to end; what was opened for its writes is closed again. Raises RedfishError."""

    def release(self) -> None:
        """The connection ends."""


class AdHocGuard:
    """For a BMC that is in no inventory: nothing is declared, so nothing destructive is allowed."""

    def before_write(self, client: BlockingClient, topology: Topology, command: Command) -> None:
        """Refuse what could destroy; a person who names an address by hand may do the rest."""
        del topology
        if is_destructive(command):
            raise GrantError(
                "refused: this BMC is in no inventory, so nobody declared which machine it should be",
                where=client.state.where(command.verb, command.target),
                expected="a node of the inventory with a grant",
                found="an address given by hand",
                hint="add the machine to a rack file, then run metalwright plan NODE --grant",
            )

    def before_disconnect(self, client: BlockingClient) -> None:
        """Nothing was opened."""

    def release(self) -> None:
        """Nothing is held."""


class Lock(Protocol):
    """The per-node lock."""

    def release(self) -> None:
        """Let it go."""


@dataclass(slots=True)
class NodeGuard:
    """For a node or equipment of the inventory.

    ``acquire_lock`` raises LockHeldError; ``find_grant`` returns what allows a destructive act now, or None. A BMC in
    a lockdown that the site declares is unlocked before the first write and locked again at the end of the connection.
    """

    node: Racked
    acquire_lock: Callable[[], Lock]
    find_grant: Callable[[], object | None]
    lock: Lock | None = None
    is_identified: bool = False
    is_lockdown_declared: bool = False
    relock: tuple[str, dict[str, Any]] | None = None

    def before_write(self, client: BlockingClient, topology: Topology, command: Command) -> None:
        """Take the lock and check the identity at the first write; ask for the grant at every destructive one."""
        if self.lock is None:
            self.lock = self.acquire_lock()
        if not self.is_identified:
            self._identify(client, topology, command)
            if self.is_identified and self.is_lockdown_declared:
                self._unlock(client, topology)
        if is_destructive(command) and self.find_grant() is None:
            raise missing_grant(self.node.name) if isinstance(self.node, Node) else _no_host(self.node.name)

    def _identify(self, client: BlockingClient, topology: Topology, command: Command) -> None:
        """Check the identity; only the first password of a BMC that shows nothing before may come earlier."""
        try:
            check_identity(self.node, client, topology)
        except BmcAuthError:
            if not _is_first_password(client, command):
                raise
            return
        self.is_identified = True

    def _unlock(self, client: BlockingClient, topology: Topology) -> None:
        """End a lockdown; what ends it is known before, so that it can be put back."""
        try:
            lockdown = client.run(find(client.state, topology, "@lockdown")).value
        except BmcAnswerError:
            return
        if lockdown["is_locked"]:
            self.relock = (lockdown["uri"], lockdown["locked"])
            client.patch(lockdown["uri"], lockdown["unlocked"])

    def before_disconnect(self, client: BlockingClient) -> None:
        """Lock the BMC again, whether the writes went well or not."""
        relock, self.relock = self.relock, None
        if relock is not None:
            client.patch(*relock)

    def release(self) -> None:
        """Let the lock go."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None


def _is_first_password(client: BlockingClient, command: Command) -> bool:
    """Whether the BMC shows nothing of itself until its password is changed, and this command changes it.

    The identity is then checked before the new password is put in force, and before anything else is written.
    """
    is_change = (command.verb, command.target) in (("SECRET", "stage"), ("PATCH", "@own-account"))
    return client.state.password_change_uri is not None and is_change


def missing_grant(node: str) -> GrantError:
    """Return the refusal of a destructive act without a grant, with the command that makes one."""
    return GrantError(
        "refused: no grant allows to overwrite this node",
        where=node,
        expected="a valid grant",
        found="none",
        hint=f"metalwright plan {node} --grant",
    )


def _no_host(name: str) -> GrantError:
    return GrantError(
        "refused: this is equipment without a host, so it has neither a disk to write nor a system to boot", where=name
    )


def check_identity(node: Racked, client: BlockingClient, topology: Topology) -> None:
    """Compare every declared identity key with what the BMC says now; of equipment with what it says of itself.

    Raises IdentityError naming each key that differs or that the BMC does not tell.
    """
    state = client.state
    seen = _of_equipment(client, topology) if isinstance(node, Equipment) else _of_system(client, topology)
    macs: list[str] = []
    if "bmc_mac" in node.identity:
        interfaces = client.run(find(state, topology, "@manager/EthernetInterfaces/*")).value
        macs = _macs(interfaces["Members"])
    wrong = [
        (key, getattr(node, key), ", ".join(macs if key == "bmc_mac" else seen[key]))
        for key in node.identity
        if not any(_agrees(key, getattr(node, key), text) for text in (macs if key == "bmc_mac" else seen[key]))
    ]
    if wrong:
        raise IdentityError(
            "this BMC does not belong to the declared machine; nothing was written",
            where=f"{node.name} at {state.base_url}",
            expected="; ".join(f"{key} {want}" for key, want, _ in wrong),
            found="; ".join(f"{key} {have or 'not told'}" for key, _, have in wrong),
            hint="correct the rack file, or the address that leads to another machine",
        )


def _of_system(client: BlockingClient, topology: Topology) -> dict[str, list[str]]:
    """What the host says of itself."""
    system = client.run(find(client.state, topology, "@system")).value
    return {"serial": _texts(system.get("SerialNumber")), "uuid": _texts(system.get("UUID"))}


def _of_equipment(client: BlockingClient, topology: Topology) -> dict[str, list[str]]:
    """What chassis and service root say, and systems that are no hosts (a switch tray lists one)."""
    root = client.run(find(client.state, topology, "@root")).value
    bodies = list(client.run(find(client.state, topology, "@root/Chassis/*")).value["Members"])
    if "Systems" in root:
        bodies += client.run(find(client.state, topology, "@root/Systems/*")).value["Members"]
    return {
        "serial": [text for body in bodies for text in _texts(body.get("SerialNumber"))],
        "uuid": [text for body in (root, *bodies) for text in _texts(body.get("UUID"))],
    }


def _agrees(key: str, declared: str, seen: str) -> bool:
    if key == "bmc_mac":
        return seen == declared
    if is_filler(seen):
        return False
    if key == "uuid":
        try:
            return declared in uuid_forms(seen)
        except ValueError:
            return False
    return seen == declared


def _texts(value: Any) -> list[str]:
    """A value as text; nothing where it is none."""
    return [str(value).strip()] if isinstance(value, str | int) and not isinstance(value, bool) else []


def _macs(interfaces: list[Mapping[str, Any]]) -> list[str]:
    """Return the BMC's MAC addresses in the normal form; fillers such as "Not Available" are left out."""
    found: list[str] = []
    for interface in interfaces:
        for key in ("MACAddress", "PermanentMACAddress"):
            try:
                mac = normal_mac(str(interface.get(key) or ""))
            except ValueError:
                continue
            if mac not in found:
                found.append(mac)
    return found
