"""systemd-networkd on a running node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyinfra import host

from metalwright.errors import DeployError
from metalwright.facts.files import DirectoryFiles
from metalwright.operations import trial
from metalwright.operations.failure import Commands, answer, node_operation

RELOAD = "networkctl reload"


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
def applied(files: Sequence[Mapping[str, str]], directory: str, pattern: str, limit_s: float) -> Commands:
    """systemd-networkd has these files and no others of ours, in force, on trial.

    Devices that are no longer declared are deleted; when the trial is taken back, so are those that it brought.
    """
    wanted = {trial.stem(item["path"]) for item in files if item["path"].endswith(".netdev")}
    before = answer(DirectoryFiles, directory=directory, pattern=pattern)
    there = {trial.stem(path) for path in before if path.endswith(".netdev")}
    yield from trial.applied._inner(
        trial="networks",
        files=files,
        apply=[*_deletions(there - wanted), RELOAD],
        undo=[*_deletions(wanted - there), RELOAD],
        owned=(directory, pattern),
        limit_s=limit_s,
    )


def _deletions(devices: set[str]) -> list[str]:
    return [f"networkctl delete {device} 2>/dev/null || true" for device in sorted(devices)]
