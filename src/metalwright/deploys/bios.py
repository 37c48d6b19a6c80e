"""Phase *bios*: every declared attribute, through the registry of this BIOS version."""

from __future__ import annotations

import os

from pyinfra.api.deploy import deploy
from pyinfra.context import host

from metalwright.operations.redfish import bios as operations
from metalwright.operations.redfish.refusals import NO_SYSTEM, skipped
from metalwright.workspace import RUN_VARIABLE

WAIT_S = 900.0
"""How long a restart may take until its attributes are in force; ``--data bios_wait_s=SECONDS`` changes it."""


@deploy("BIOS")
def bios() -> None:
    """Write what differs, restart the host as often as it takes, and read everything back.

    In a run of ``metalwright provision`` it ends with the first restart: the state table waits, looks, and goes on.
    ``--data clear_jobs=ID[,ID…]`` (or ``all``) first removes jobs that are stuck in the BMC's queue.
    """
    if host.data.get("equipment"):
        skipped(name="BIOS attributes", reason=NO_SYSTEM)
        return
    profile = (host.data.get("blueprint_data") or {}).get("bios") or {}
    desired = profile.get("attributes") or {}
    is_in_run = bool(os.environ.get(RUN_VARIABLE))
    wait_s = 0.0 if is_in_run else float(host.data.get("bios_wait_s") or WAIT_S)
    jobs = [name for name in str(host.data.get("clear_jobs") or "").split(",") if name]
    operations.jobs_cleared(name="Stuck BIOS jobs", jobs=jobs)
    operations.attributes(name="BIOS attributes", desired=desired, wait_s=wait_s)
