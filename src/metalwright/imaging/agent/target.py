"""Which disk is the target: exactly one that satisfies the rule, never a fall-back."""

from __future__ import annotations

from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Disk, DiskRule, Stamp


def pick_disk(disks: tuple[Disk, ...], rule: DiskRule, content_size_bytes: int) -> Disk:
    """Return the one disk that the rule names and the image fits on, or raise :class:`AgentError`."""
    matches = [disk for disk in disks if not _refusals(disk, rule)]
    if len(matches) > 1:
        raise AgentError(
            "ambiguous-disk",
            f"{len(matches)} disks satisfy the rule of the {rule.role} disk",
            expected=f"exactly one disk with {describe_rule(rule)}",
            found="\n".join(disk.describe() for disk in matches),
        )
    if not matches:
        raise _no_disk(disks, rule)
    if matches[0].size_bytes < content_size_bytes:
        raise _too_small(matches[0], content_size_bytes)
    return matches[0]


def check_content(disk: Disk, overwrite: bool, stamp: Stamp, *, will_be_wiped: bool = False) -> None:
    """Raise :class:`AgentError` for a disk that is neither blank nor this node's own, unless ``overwrite`` was granted.

    ``stamp`` is the one to be written. A disk that another journal's run wrote, or that was written as another node,
    may hold what somebody still needs: an empty journal never means "wipe". Another customer's disk is erased first,
    with proof, whatever was granted.
    """
    _check_customer(disk, stamp, will_be_wiped)
    if overwrite or disk.content.state == "blank":
        return
    if disk.content.state != "ours":
        raise AgentError(
            "foreign-disk",
            f"{disk.path} (serial {disk.serial}) carries data that metalwright did not write",
            expected="a blank disk, a disk with our stamp, or an order to overwrite this node",
            found="; ".join(disk.content.summary),
        )
    found = disk.content.stamp or {}
    if any(found.get(key) != stamp.get(key) for key in ("node", "journal")):
        raise AgentError(
            "foreign-disk",
            f"{disk.path} (serial {disk.serial}) was written by another journal's run, or as another node",
            expected=f"the stamp of {_writer(stamp)}, or an order to overwrite this node",
            found=f"the stamp of {_writer(found)}, run {found.get('run')} of {found.get('written')}",
        )


def _check_customer(disk: Disk, stamp: Stamp, will_be_wiped: bool) -> None:
    found = disk.content.stamp
    if found is None or will_be_wiped or found.get("customer") == stamp.get("customer"):
        return
    raise AgentError(
        "customer",
        f"{disk.path} (serial {disk.serial}) was written for another customer",
        expected=f"the stamp of customer {stamp.get('customer') or 'none'}, or an order to erase all disks",
        found=f"the stamp of customer {found.get('customer') or 'none'}, run {found.get('run')}",
    )


def _writer(stamp: Stamp) -> str:
    return f"node {stamp.get('node')} and journal {stamp.get('journal')}"


def describe_rule(rule: DiskRule) -> str:
    """Return the rule in words."""
    parts = [f"{key} {value}" for key, value in rule._asdict().items() if key != "role" and value]
    return ", ".join(parts) or "no condition"


def is_same_wwn(first: str | None, second: str | None) -> bool:
    """Whether two spellings name one disk: the kernel writes ``naa.5000c5…``, a BMC ``5000C5…`` or ``0x5000c5…``."""
    return bool(first) and bool(second) and _bare_wwn(first or "") == _bare_wwn(second or "")


def _bare_wwn(text: str) -> str:
    bare = text.strip().lower()
    for prefix in ("naa.", "eui.", "uuid.", "wwn-", "0x"):
        bare = bare.removeprefix(prefix)
    return bare.replace(":", "").replace("-", "").replace("_", "")


def _refusals(disk: Disk, rule: DiskRule) -> list[str]:
    """Return why ``disk`` is not the target; empty when it is."""
    checks = {
        "read-only": disk.read_only,
        "removable": disk.removable,
        "other serial": rule.serial is not None and disk.serial != rule.serial,
        "other WWN": rule.wwn is not None and not is_same_wwn(disk.wwn, rule.wwn),
        f"not {rule.protocol}": rule.protocol is not None and disk.protocol != rule.protocol,
        f"smaller than {rule.min_bytes} bytes": disk.size_bytes < rule.min_bytes,
        f"larger than {rule.max_bytes} bytes": rule.max_bytes is not None and disk.size_bytes > rule.max_bytes,
    }
    return [why for why, refused in checks.items() if refused]


def _no_disk(disks: tuple[Disk, ...], rule: DiskRule) -> AgentError:
    named = [disk for disk in disks if _is_named(disk, rule)]
    if len(named) == 1 and _refusals(named[0], rule) == [f"smaller than {rule.min_bytes} bytes"]:
        return _too_small(named[0], rule.min_bytes)
    found = "\n".join(f"{disk.describe()} — {', '.join(_refusals(disk, rule))}" for disk in disks)
    return AgentError(
        "no-disk",
        f"no disk satisfies the rule of the {rule.role} disk",
        expected=f"exactly one disk with {describe_rule(rule)}",
        found=found or "no disk at all",
    )


def _is_named(disk: Disk, rule: DiskRule) -> bool:
    return (rule.serial is not None and disk.serial == rule.serial) or is_same_wwn(disk.wwn, rule.wwn)


def _too_small(disk: Disk, needed_bytes: int) -> AgentError:
    return AgentError(
        "disk-too-small",
        f"{disk.path} (serial {disk.serial}) is too small",
        expected=f"at least {needed_bytes} bytes",
        found=f"{disk.size_bytes} bytes",
    )
