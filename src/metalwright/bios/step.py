"""The next thing to do on one BMC: nothing, wait for somebody's job, restart first, or write and restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from metalwright.bios.plan import BiosPlan
from metalwright.bios.registry import Value

ENDED = frozenset(
    {"completed", "completedwitherrors", "failed", "cancelled", "exception", "rebootcompleted", "rebootfailed"}
)
WAITS_FOR_RESET = frozenset({"scheduled", "readyforexecution", "waiting", "pending", "paused"})

NOT_SHOWN = "this BMC shows no BIOS attributes, so nothing would prove a change"
START_ONCE = "start the host once, so that the BIOS tells them to the BMC; if they stay away, restart the BMC"


@dataclass(frozen=True)
class BiosStep:
    """``write``: send ``stage`` (and make a job where ``needs_job``), then restart. ``restart``: something that waits
    must come into force before. ``blocked``: somebody else's job works. ``refused``: the BMC offers no way, and
    ``hint`` is the next action where it is not the usual one.
    """

    kind: Literal["none", "write", "restart", "blocked", "refused"]
    why: str = ""
    stage: Mapping[str, Value] = field(default_factory=dict)
    needs_job: bool = False
    hint: str | None = None


def next_step(plan: BiosPlan, state: Mapping[str, Any], queue: Mapping[str, Any]) -> BiosStep:
    """Decide. ``state`` and ``queue`` are those of :mod:`metalwright.bios.observed`.

    Only one change may wait for a reset on many BMCs, whether Secure Boot, a job or attributes (IDRAC SYS011): what
    waits goes first, with a reset of its own. Nobody's job is ever deleted here.
    """
    if not plan.is_reboot_needed:
        return BiosStep("none")
    if not state["attributes"]:
        return BiosStep("refused", NOT_SHOWN, hint=START_ONCE)
    if state["settings_uri"] is None:
        return BiosStep("refused", "this BMC offers no place for BIOS changes")
    busy = [job for job in queue["jobs"] if is_busy(job)]
    if busy:
        return BiosStep("blocked", f"the BMC works on {', '.join(map(describe_job, busy))}")
    scheduled = [job for job in queue["jobs"] if is_scheduled(job)]
    if not plan.changes:
        return BiosStep("write", needs_job=queue["uri"] is not None and not scheduled)
    if scheduled:
        jobs = ", ".join(map(describe_job, scheduled))
        return BiosStep("restart", f"{jobs} holds other BIOS changes for the next reset")
    if state["secure_boot_pending"]:
        return BiosStep("restart", "a Secure Boot change waits for the next reset")
    has_apply_time = "OnReset" in state["apply_times"]
    return BiosStep("write", stage=plan.stages[0], needs_job=queue["uri"] is not None and not has_apply_time)


def is_scheduled(job: Mapping[str, Any]) -> bool:
    """Whether it is a BIOS job that the next reset carries out."""
    is_bios = "bios" in f"{job['kind']} {job['name']}".lower()
    return is_bios and job["state"].replace(" ", "").lower() in WAITS_FOR_RESET


def is_busy(job: Mapping[str, Any]) -> bool:
    """Whether it runs, or says neither that it ended nor that it waits for a reset."""
    state = job["state"].replace(" ", "").lower()
    return state not in ENDED and state not in WAITS_FOR_RESET


def describe_job(job: Mapping[str, Any]) -> str:
    """``job JID_1 (BIOSConfiguration, Scheduled)``."""
    return f"job {job['id']} ({job['kind'] or job['name'] or 'unnamed'}, {job['state'] or 'no state'})"
