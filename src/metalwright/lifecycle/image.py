"""The row that can destroy: when a disk is written, when the machine is left alone, when it is refused.

Order of the questions: is a write of this chain already verified (then only boot it); is one under way (then
watch it); is the wanted system there already (then nothing); may the disk be written at all; then write.
"""

from __future__ import annotations

from metalwright.lifecycle.decisions import Act, Decision, Done, Effect, Failed, History, Wait
from metalwright.lifecycle.observations import ImageObservation
from metalwright.lifecycle.timing import Timing
from metalwright.model.agent_protocol import Failure, FailureCode
from metalwright.model.deployment import Deployment, DeploymentState

CLEANUP = "eject"


def decide_image(seen: ImageObservation, history: History, timing: Timing) -> Decision:
    """Decision of the image phase."""
    deployment = _relevant(seen)
    if seen.other_customers and not seen.may_wipe and not _is_erasing(deployment):
        return _other_customer(seen)
    if deployment is not None:
        if deployment.state is DeploymentState.DONE:
            return _after_verified_write(seen, deployment, history, timing)
        if not deployment.state.is_final:
            return _under_way(seen, deployment, history, timing)
        if history.count("image"):
            return _ended_badly(deployment)
    if seen.carries_wanted_image and not seen.is_rebuild:
        return _already_there(seen)
    return _refusal(seen) or Act("image", f"write {seen.wanted_image}{_by(seen)}", Effect.DESTROY, CLEANUP)


def _by(seen: ImageObservation) -> str:
    """How the ramdisk starts, where that is not by virtual media."""
    if seen.boot is None or seen.boot.method in (None, "virtual-media"):
        return ""
    return f" by {seen.boot.method}" + (f" ({seen.boot.others()})" if seen.boot.why_not else "")


def _is_erasing(deployment: Deployment | None) -> bool:
    """Whether a ramdisk erases all disks right now; its grant may end before it does."""
    return deployment is not None and bool(deployment.task.wipe) and not deployment.state.is_final


def _other_customer(seen: ImageObservation) -> Failed:
    return Failed(
        code="customer",
        what="the node goes to another customer, and its disks are not to be erased",
        expected="disks without data of another customer",
        found=f"written for customer {', '.join(seen.other_customers)}",
        hint="`metalwright rebuild NODE --wipe` erases all of them, with proof; or correct `customer` in the rack file",
    )


def _relevant(seen: ImageObservation) -> Deployment | None:
    """The deployment that still counts: of the wanted image, and done, writing, or made under our lease.

    A write of an earlier run that stopped half-way (the power is off) is no longer under way: it is done again.
    """
    deployment = seen.deployment
    if deployment is None or deployment.task.image.file_sha256 != seen.wanted_sha256:
        return None
    if deployment.state is DeploymentState.GO and not seen.is_own_deployment and seen.power == "Off":
        return None
    is_binding = deployment.state in (DeploymentState.DONE, DeploymentState.GO)
    return deployment if is_binding or seen.is_own_deployment else None


def _already_there(seen: ImageObservation) -> Done:
    return Done({"image": seen.wanted_image, "boot_id": seen.os.boot_id, "written": False})


def _after_verified_write(seen: ImageObservation, deployment: Deployment, history: History, timing: Timing) -> Decision:
    stamp = seen.os.stamp
    if seen.os.kind == "ours" and stamp is not None and stamp.run == deployment.run:
        if seen.os.starting:
            return _still_starting(seen, timing)
        done = deployment.done
        return Done(
            {
                "image": seen.wanted_image,
                "boot_id": seen.os.boot_id,
                "written": history.count("image") > 0,
                "read_back_sha256": done.read_back_sha256 if done else None,
                "disk_serial": done.disk.serial if done else None,
                "boot_entries_removed": ", ".join(done.removed_boot_entries) if done else "",
            }
        )
    if seen.is_medium_inserted or seen.power == "Off":
        if history.count("boot_disk") >= timing.attempts:
            return Failed(
                code="boot-disk",
                what="the BMC does not let go of the deploy medium or does not power on",
                found=f"medium inserted: {seen.is_medium_inserted}, power {seen.power}",
                hint="eject the medium by hand and power the node on; the disk is written and verified",
            )
        return Act("boot_disk", "eject the medium and boot the written disk", Effect.RESET)
    silent = Failed(
        code="os-boot",
        what="the written system does not answer on SSH",
        expected=f"SSH with the host key that the ramdisk reported, within {timing.os_boot_s / 60:.0f} minutes",
        found=seen.os.detail or seen.os.kind,
        hint="look at the console; the disk is written and verified, and only `metalwright rebuild` writes it again",
    )
    return Wait(1.0, "the written system boots", timing.os_boot_s, silent)


def _still_starting(seen: ImageObservation, timing: Timing) -> Wait:
    """What an image does at its first start may restart it, or hold the package manager: SSH alone is too early."""
    endless = Failed(
        code="os-boot",
        what="the written system answers and does not finish its start",
        expected=f"`systemctl is-system-running` past `starting` within {timing.os_boot_s / 60:.0f} minutes",
        found=seen.os.starting,
        hint="log in and look at `systemctl list-jobs`; the disk is written and verified",
    )
    return Wait(2.0, f"the written system starts: {seen.os.starting}", timing.os_boot_s, endless)


def _under_way(seen: ImageObservation, deployment: Deployment, history: History, timing: Timing) -> Decision:
    if deployment.state is DeploymentState.PREPARED:
        return _awaiting_ramdisk(seen, history, timing)
    if seen.power == "Off":
        wrote = deployment.state is DeploymentState.GO
        return Failed(
            code="power-lost",
            what="the node powered off in the middle of its deployment",
            found="part of the disk was written" if wrote else "nothing was written",
            hint="run provision again; the ramdisk's last words are on the serial console",
            cleanup=CLEANUP,
        )
    stalled = Failed(
        code="stalled",
        what="the ramdisk stopped reporting",
        found=f"last sign of life {seen.progress_age_s or 0:.0f} s ago in state {deployment.state}",
        hint="look at the serial console, then run provision again",
        cleanup="power_off",
    )
    if seen.progress_age_s is not None and seen.progress_age_s > timing.stall_s:
        return stalled
    limit_s = timing.image_s + (timing.wipe_s if deployment.task.wipe else 0.0)
    return Wait(1.0, _progress_text(deployment), limit_s, stalled)


PAST_THE_MEDIUM = ("OSBootStarted", "OSRunning", "SetupEntered")
"""Steps of a boot at which the firmware has chosen what it starts, or found nothing."""


def _awaiting_ramdisk(seen: ImageObservation, history: History, timing: Timing) -> Decision:
    tries, restarts = history.count("image"), history.count("power_off")
    if seen.power == "Off" and 0 < tries == restarts < timing.attempts:
        return Act("image", f"boot the deploy medium of {seen.wanted_image} once more", Effect.DESTROY, CLEANUP)
    if _is_not_booted(seen, history, timing):
        return _not_booted(seen, tries, timing)
    if seen.power == "Off":
        return Failed(
            code="ramdisk-silent",
            what="the node powered off without reporting to the boot server",
            expected="a report from the ramdisk within its own time limit",
            found="nothing was written",
            hint="the node must reach the boot server's HTTPS port (site.yaml boot_server.address_for_node); "
            "the serial console tells what it tried",
            cleanup=CLEANUP,
        )
    silent = Failed(
        code="ramdisk-silent",
        what="the deploy ramdisk never reported",
        expected=f"a report within {timing.ramdisk_boot_s / 60:.0f} minutes of power-on",
        found="nothing was written",
        hint="check that the BMC booted the deploy medium and that the node reaches the boot server",
        cleanup="power_off",
    )
    return Wait(1.0, "the ramdisk boots", timing.ramdisk_boot_s, silent)


def _is_not_booted(seen: ImageObservation, history: History, timing: Timing) -> bool:
    """Whether the host started something else: the override is used up, and nobody ever read the medium."""
    is_past = seen.boot_progress in PAST_THE_MEDIUM and seen.is_override_set is False
    return seen.power == "On" and is_past and not seen.is_medium_read and history.since_last_s >= timing.not_booted_s


def _not_booted(seen: ImageObservation, tries: int, timing: Timing) -> Decision:
    """Try once more, from another target where the BMC has one; then it is somebody's turn. Nothing was written."""
    what = "the host did not boot the deploy medium: its image was never fetched"
    if 0 < tries < timing.attempts:
        return Act("power_off", f"{what}; try once more", Effect.RESET)
    return Failed(
        code="medium-not-booted",
        what=what,
        expected="a GET of the medium from the BMC, then a report from the ramdisk",
        found=f"the boot override is used up and the BMC shows {seen.boot_progress}; nothing was written",
        hint="docs/how-to/power-boot-and-media.md: the medium does not boot",
        cleanup="power_off",
    )


def _ended_badly(deployment: Deployment) -> Failed:
    failure = deployment.failure
    if failure is None:
        return Failed(
            code="expired",
            what="the deployment expired before the node finished",
            hint="run provision again",
            cleanup=CLEANUP,
        )
    return Failed(
        code=failure.code,
        what=failure.what,
        expected=failure.expected,
        found=failure.found,
        hint=_next_step(deployment.node, failure),
        cleanup=CLEANUP,
    )


def _next_step(node: str, failure: Failure) -> str:
    if failure.code is FailureCode.FOREIGN_DISK:
        return "nothing was written; if its content may be destroyed: `COMMAND --overwrite NODE`"
    if failure.code is FailureCode.CUSTOMER:
        return f"nothing was written; `metalwright rebuild {node} --wipe` erases all disks first, with proof"
    if failure.code is FailureCode.WIPE and failure.wrote:
        return "replace the disk that is named, or erase it by hand; the node stays the former customer's until then"
    return "part of the disk was written: run it again" if failure.wrote else "the disk was not written"


def _refusal(seen: ImageObservation) -> Failed | None:
    if seen.os.kind == "answers" and not seen.may_overwrite:
        return Failed(
            code="os-answers",
            what="an operating system answers on this node, and it is not one that we can authenticate",
            expected="a silent node, or one with a host key that we know",
            found=seen.os.detail,
            hint="if it really must go: `COMMAND --overwrite NODE`",
        )
    if seen.os.kind == "ours" and not seen.is_rebuild and not seen.may_overwrite:
        found = seen.os.stamp.image if seen.os.stamp else "no stamp"
        return Failed(
            code="os-answers",
            what="the node runs another image and its system answers",
            expected=f"sha256:{seen.wanted_sha256}",
            found=found,
            hint=f"use `metalwright rebuild NODE --image {seen.wanted_image}`, or `COMMAND --overwrite NODE`",
        )
    if seen.was_ready and not seen.is_rebuild and not seen.may_overwrite:
        return Failed(
            code="was-ready",
            what="the node was ready and does not answer now",
            expected="SSH with the known host key",
            found=seen.os.detail or "nothing answers",
            hint="bring it back with `metalwright rebuild NODE`; provision never re-images a ready node",
        )
    if seen.boot is not None and seen.boot.method is None:
        return Failed(
            code="boot-method",
            what="the deploy ramdisk cannot be started in any way that the blueprint declares",
            expected="one of boot.method that this BMC offers",
            found=seen.boot.others(),
            hint="docs/how-to/boot-over-the-network.md: add another method to a new version of the blueprint",
        )
    if not seen.has_grant:
        return Failed(
            code="grant",
            what="no grant allows to write this node's disk",
            hint="make one with `metalwright plan NODE --grant`, or run provision and confirm",
        )
    return None


def _progress_text(deployment: Deployment) -> str:
    progress = deployment.progress
    if progress is None:
        return "the ramdisk looks at the machine"
    if not progress.total_bytes:
        return progress.step
    return f"{progress.step} {100 * progress.done_bytes / progress.total_bytes:.0f} %"
