"""What configures the networks of a running node: systemd-networkd, netplan or NetworkManager."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from pyinfra import host

from metalwright.errors import DeployError
from metalwright.facts.files import DirectoryFiles
from metalwright.node_networks import STACKS
from metalwright.operations import trial
from metalwright.operations.failure import Commands, answer, node_operation

RELOAD = "networkctl reload"
NETPLAN_APPLY = "netplan apply"
NETPLAN_AT_BOOT = "netplan generate"
"""netplan's own generator has run by then, on the files that were never proven."""

ACTIVATION_S = 20
"""How long a connection of NetworkManager may take to come up; one without a carrier does not, and others go on."""


@dataclass(frozen=True)
class _Application:
    """Shell lines."""

    apply: Sequence[str]
    undo: Sequence[str]
    at_boot: Sequence[str] = ()


@node_operation
def known(is_known: bool) -> Commands:
    """Every network of the blueprint has an address for this node; else the host fails before anything is changed."""
    yield from ()
    if not is_known:
        raise DeployError(
            "the node has no address on a network that its blueprint joins",
            where=host.name,
            hint="run `metalwright addresses allocate` and commit inventory/addresses.lock",
        )
    host.noop("every network has an address")


@node_operation
def applied(files: Sequence[Mapping[str, str]], stack: str, limit_s: float) -> Commands:
    """The stack has these files and no others of ours, in force, on trial.

    Devices that are no longer declared are deleted; when the trial is taken back, so are those that it brought.
    """
    owned = STACKS[stack].directory, STACKS[stack].pattern
    before = answer(DirectoryFiles, directory=owned[0], pattern=owned[1])
    lines = _LINES[stack]([item["path"] for item in files], before)
    yield from trial.applied._inner(
        trial="networks",
        files=files,
        apply=lines.apply,
        undo=lines.undo,
        at_boot=lines.at_boot,
        owned=owned,
        limit_s=limit_s,
    )


def _networkd(after: Sequence[str], before: Sequence[str]) -> _Application:
    wanted, there = ({trial.stem(path) for path in paths if path.endswith(".netdev")} for paths in (after, before))
    return _Application([*_deletions(there - wanted), RELOAD], [*_deletions(wanted - there), RELOAD])


def _deletions(devices: set[str]) -> list[str]:
    return [f"networkctl delete {device} 2>/dev/null || true" for device in sorted(devices)]


def _netplan(*_: Sequence[str]) -> _Application:
    """Deletes the devices that its files no longer name by itself."""
    return _Application([NETPLAN_APPLY], [NETPLAN_APPLY], [NETPLAN_AT_BOOT])


def _network_manager(after: Sequence[str], before: Sequence[str]) -> _Application:
    """Takes down the connections whose files are gone, with the devices that it made for them, by itself."""
    return _Application([activation(after)], [activation(before)])


def activation(paths: Sequence[str]) -> str:
    """One shell line that puts the connections of these files in force. Ports come with their bond.

    One line, since nothing more reaches a node after the line that cuts it off.
    """
    names = [PurePosixPath(path).stem for path in sorted(paths) if "-port-" not in path]
    names.sort(key=_by_attachment)
    ups = (f"nmcli --wait {ACTIVATION_S} connection up id {name} || true" for name in names)
    return "; ".join(["nmcli connection reload", *ups])


def _by_attachment(name: str) -> tuple[str, bool]:
    """Those of one attachment together, its VLANs last: they need what they are on."""
    number, _, device = name.partition("-")
    return number, device.startswith("vlan")


_LINES: Mapping[str, Callable[[Sequence[str], Sequence[str]], _Application]] = {
    "systemd-networkd": _networkd,
    "netplan": _netplan,
    "NetworkManager": _network_manager,
}
