"""Examples of the phase that can destroy."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.reference.examples import Example, after

from metalwright.lifecycle.observations import ImageObservation, OsView
from metalwright.model import agent_protocol as agent
from metalwright.model.deployment import Deployment, DeploymentState
from metalwright.model.image import Stamp
from metalwright.model.phase import Phase

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_WANTED, _OTHER, _NONE = "a" * 64, "b" * 64, "0" * 64
_DISK = agent.Disk(path="/dev/nvme0n1", size_bytes=1, content=agent.DiskContent(state="blank"))


def _stamp(image: str) -> Stamp:
    return Stamp(node="n", run="run", recipe="sha256:r", image=f"sha256:{image}", journal="j", written=_NOW)


def _task() -> agent.Task:
    image = agent.ImageTask(
        name="debian",
        version="1",
        format="raw",
        file_sha256=_WANTED,
        file_size_bytes=1,
        content_sha256=_WANTED,
        content_size_bytes=1,
        chunk_bytes=1,
        chunk_sha256=(_WANTED,),
    )
    return agent.Task(
        run="run",
        node="n",
        expect=agent.ExpectedIdentity(keys=("serial",), serial="A"),
        image=image,
        disk=agent.DiskRule(role="system"),
        stamp=_stamp(_WANTED),
        seed=agent.Seed(hostname="n", fqdn="n.example"),
    )


def _deployment(state: DeploymentState) -> Deployment:
    done = agent.Done(disk=_DISK, content_sha256=_WANTED, read_back_sha256=_WANTED)
    failure = agent.Failure(code=agent.FailureCode.FOREIGN_DISK, what="the disk holds somebody's data", wrote=False)
    return Deployment(
        deployment_id="d",
        run="run",
        node="n",
        state=state,
        created=_NOW,
        expires=_NOW + timedelta(hours=1),
        token_sha256=_NONE,
        nonce_sha256=_NONE,
        media_secret_sha256=_NONE,
        image_secret_sha256=_NONE,
        media_path=Path("medium.iso"),
        image_path=Path("image.raw"),
        task=_task(),
        done=done if state is DeploymentState.DONE else None,
        failure=failure if state is DeploymentState.FAILED else None,
    )


_BLANK = ImageObservation(
    wanted_image="debian@1",
    wanted_sha256=_WANTED,
    journal_id="j",
    is_rebuild=False,
    os=OsView("silent"),
    power="Off",
    is_medium_inserted=False,
    deployment=None,
    is_own_deployment=True,
    has_grant=True,
    may_overwrite=False,
    was_ready=False,
)


def _seen(state: DeploymentState | None = None, **changes: Any) -> ImageObservation:
    return replace(_BLANK, deployment=_deployment(state) if state else None, **changes)


_RUNS_WANTED = OsView("ours", _stamp(_WANTED), boot_id="b")
_RUNS_OTHER = OsView("ours", _stamp(_OTHER), boot_id="b")
_UNKNOWN = OsView("answers", detail="an SSH server")
_BOOTED: dict[str, Any] = {"power": "On", "is_medium_inserted": True}

_ELSEWHERE: dict[str, Any] = {**_BOOTED, "boot_progress": "OSRunning", "is_override_set": False}

IMAGE_EXAMPLES: dict[Phase, tuple[Example, ...]] = {
    Phase.IMAGE: (
        Example("our system with the wanted image answers", _seen(os=_RUNS_WANTED, power="On")),
        Example("the same, in a rebuild", _seen(os=_RUNS_WANTED, power="On", is_rebuild=True)),
        Example("our system with another image answers", _seen(os=_RUNS_OTHER, power="On")),
        Example("an unknown system answers", _seen(os=_UNKNOWN, power="On")),
        Example("an unknown system answers, `--overwrite`", _seen(os=_UNKNOWN, power="On", may_overwrite=True)),
        Example("the node was ready and is silent", _seen(was_ready=True)),
        Example("nothing answers, no grant", _seen(has_grant=False)),
        Example("nothing answers, a grant", _seen()),
        Example("medium inserted, ramdisk boots", _seen(DeploymentState.PREPARED, **_BOOTED), after("image")),
        Example("the host booted something else", _seen(DeploymentState.PREPARED, **_ELSEWHERE), after("image", 1, 90)),
        Example("the same, a second time", _seen(DeploymentState.PREPARED, **_ELSEWHERE), after("image", 2, 90)),
        Example("the node went off without a word", _seen(DeploymentState.PREPARED), after("image")),
        Example("the ramdisk said hello", _seen(DeploymentState.HELLO, **_BOOTED), after("image")),
        Example("it writes", _seen(DeploymentState.GO, **_BOOTED), after("image")),
        Example(
            "it writes, silent for 4 min", _seen(DeploymentState.GO, progress_age_s=240.0, **_BOOTED), after("image")
        ),
        Example("the node went off while writing", _seen(DeploymentState.GO), after("image")),
        Example("the ramdisk reported a failure", _seen(DeploymentState.FAILED), after("image")),
        Example("the deployment expired", _seen(DeploymentState.EXPIRED), after("image")),
        Example("the write is verified, the node is off", _seen(DeploymentState.DONE), after("image")),
        Example("the written system boots", _seen(DeploymentState.DONE, power="On"), after("boot_disk")),
        Example("the BMC keeps the medium", _seen(DeploymentState.DONE, **_BOOTED), after("boot_disk", 2)),
        Example(
            "the written system answers with its host key",
            _seen(DeploymentState.DONE, os=_RUNS_WANTED, power="On"),
            after("boot_disk"),
        ),
    ),
}
