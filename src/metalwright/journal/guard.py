"""The guard asked just before a ramdisk's first write: the lease, then the grant."""

from __future__ import annotations

from metalwright.errors import GrantError, LockHeldError
from metalwright.journal.database import Clock
from metalwright.journal.events import Events
from metalwright.journal.grants import Grants
from metalwright.journal.leases import Leases
from metalwright.model.agent_protocol import Disk
from metalwright.model.deployment import Deployment, GoGuard
from metalwright.model.grant import Grant
from metalwright.model.image import Stamp


def make_go_guard(leases: Leases, grants: Grants, events: Events, clock: Clock) -> GoGuard:
    """Return the guard that lets a deployment write when its run holds the node and a grant covers this very disk.

    It uses the grant up for the run and leaves an act in the audit log. Returns the lease epoch; raises GrantError or
    LockHeldError.
    """

    def guard(deployment: Deployment, disk: Disk) -> int:
        epoch = _lease_epoch(leases, deployment)
        grant = grants.find_valid(deployment.node, deployment.task.image.file_sha256, clock(), run=deployment.run)
        if grant is None:
            raise GrantError(
                "no grant allows writing this image to this node",
                where=deployment.node,
                expected=f"a grant for image sha256:{deployment.task.image.file_sha256}",
                found="none that is valid now for this run",
                hint=f"`metalwright plan {deployment.node} --grant` makes one",
            )
        _check_disk(grant, disk, deployment.task.stamp, will_be_wiped=bool(deployment.task.wipe))
        _check_wipe(grant, deployment)
        grants.use(grant.id, deployment.run, clock())
        detail = {"disk": disk.to_json(), "image": deployment.task.image.file_sha256, "erased": deployment.task.wipe}
        events.act(
            "disk overwritten",
            node=deployment.node,
            run=deployment.run,
            why=f"grant {grant.id} by {grant.by}",
            plan=grant.plan,
            who=grant.by,
            detail=detail,
        )
        return epoch

    return guard


def _lease_epoch(leases: Leases, deployment: Deployment) -> int:
    lease = leases.get(deployment.node)
    if lease is not None and lease.run == deployment.run and lease.released is None:
        return lease.epoch
    raise LockHeldError(
        "the run of this boot medium does not hold the node",
        where=deployment.node,
        expected=f"run {deployment.run}",
        found="no lease"
        if lease is None
        else f"run {lease.run} by {lease.by}" + (" (ended)" if lease.released else ""),
        hint="let the run that holds the node finish, or provision the node again",
    )


def _check_wipe(grant: Grant, deployment: Deployment) -> None:
    unnamed = sorted(set(deployment.task.wipe) - set(grant.wipe))
    if unnamed:
        raise GrantError(
            "the grant does not allow to erase these disks",
            where=f"{grant.node} disk {', '.join(unnamed)}",
            expected=f"a grant that names them; it names {', '.join(grant.wipe) or 'none'}",
            hint=f"`metalwright rebuild {grant.node} --wipe` asks for them",
        )


def _check_disk(grant: Grant, disk: Disk, stamp: Stamp, *, will_be_wiped: bool) -> None:
    if grant.disk_serial is not None and grant.disk_serial != disk.serial:
        raise GrantError(
            "the grant is for another disk",
            where=grant.node,
            expected=f"disk serial {grant.disk_serial}",
            found=f"disk serial {disk.serial}",
            hint="plan the node again: its disks are not those that were planned for",
        )
    _check_customer(grant, disk, stamp, will_be_wiped)
    if not grant.overwrite and not _is_ours(disk, stamp):
        found = disk.content.stamp
        raise GrantError(
            "the disk holds something that is not this node's own",
            where=f"{grant.node} disk {disk.serial or disk.path}",
            expected="a blank disk, or one with the stamp of this node and journal",
            found=(f"the stamp of node {found.node}, journal {found.journal}" if found else None)
            or "; ".join(disk.content.summary)
            or "unknown content",
            hint=f"if it may be destroyed: --overwrite {grant.node}",
        )


def _check_customer(grant: Grant, disk: Disk, stamp: Stamp, will_be_wiped: bool) -> None:
    found = disk.content.stamp
    if found is None or will_be_wiped or found.customer == stamp.customer:
        return
    raise GrantError(
        "the disk was written for another customer, and nothing may be left of that",
        where=f"{grant.node} disk {disk.serial or disk.path}",
        expected=f"the stamp of customer {stamp.customer or 'none'}, or an order to erase all disks",
        found=f"the stamp of customer {found.customer or 'none'}, run {found.run}",
        hint=f"`metalwright rebuild {grant.node} --wipe`",
    )


def _is_ours(disk: Disk, stamp: Stamp) -> bool:
    """Whether the disk is blank, or was written as this node by a run of this journal."""
    found = disk.content.stamp
    if disk.content.state != "ours":
        return disk.content.state == "blank"
    return found is not None and (found.node, found.journal) == (stamp.node, stamp.journal)
