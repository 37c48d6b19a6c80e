"""The order of a deployment: nothing is written before identity, disk, image and *go* are all certain."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
from collections.abc import Iterator
from typing import Final

from metalwright.imaging.agent.boot_entries import partition_guids, remove_stale_entries
from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.control import ControlClient
from metalwright.imaging.agent.decompress import ImageSource
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.fetch import Report, fetch_to_file, fetch_verified_chunks
from metalwright.imaging.agent.grow import grow_root
from metalwright.imaging.agent.hardware import Hardware
from metalwright.imaging.agent.identity import check_identity
from metalwright.imaging.agent.media import Media
from metalwright.imaging.agent.records import Disk, Identity, Image, Task, task_from_json
from metalwright.imaging.agent.seed import seed_root
from metalwright.imaging.agent.stamp import write_stamp
from metalwright.imaging.agent.target import check_content, pick_disk
from metalwright.imaging.agent.wipe import Wiped, Wiping, disks_to_wipe
from metalwright.imaging.agent.write import read_back_sha256, write_image

_PROGRESS_EVERY_S: Final = 1.0
_PROGRESS_GIVE_UP_S: Final = 2.0


class Deployment:
    """One deployment on this machine, from hello to done."""

    def __init__(self, media: Media, hardware: Hardware, control: ControlClient) -> None:
        self._media = media
        self._hardware = hardware
        self._control = control
        self._seconds: dict[str, float] = {}
        self._wrote = False
        self._wiped: tuple[Wiped, ...] = ()
        self._former: frozenset[str] = frozenset()

    def run(self) -> bool:
        """Write the node; return ``False`` when this medium has nothing (more) to do. Raises :class:`AgentError`.

        Every stop is reported to the boot server, as far as it can be reached.
        """
        try:
            task = self._hello()
            if task is None:
                return False
            self._deploy(task)
        except AgentError as error:
            error.wrote = error.wrote or self._wrote
            self._report_failure(error)
            raise
        except Exception as error:
            failure = AgentError("internal", f"{type(error).__name__}: {error}", wrote=self._wrote)
            self._report_failure(failure)
            raise failure from error
        return True

    def _hello(self) -> Task | None:
        identity = self._hardware.identity()
        say(f"this machine: serial {identity.serial}, UUID {identity.uuid}, MACs {' '.join(identity.macs) or 'none'}")
        disks = self._hardware.disks()
        for disk in disks:
            say(f"disk: {disk.describe()}")
        with self._timed("hello"):
            hello = {
                "nonce": self._nonce(identity),
                "identity": identity._asdict(),
                "memory_bytes": self._hardware.memory_bytes(),
                "boot_id": self._hardware.boot_id(),
                "disks": [disk.to_json() for disk in disks],
            }
            answer = self._control.post("/agent/v1/hello", hello)
        if answer.get("task") is None:
            say(f"nothing to do: {answer.get('why', 'the boot server has no task')}")
            return None
        task = task_from_json(answer["task"])
        check_identity(identity, task.expect)
        say(f"node {task.node}, run {task.run}: image {task.image.name} {task.image.version}")
        return task

    def _nonce(self, identity: Identity) -> str:
        """Return the medium's nonce; after a network boot, claim it and the token as the machine that we are."""
        if self._media.token and self._media.nonce:
            return self._media.nonce
        say("this program carries no secrets: claiming them")
        claim = {"node": self._media.node, "identity": identity._asdict()}
        answer = self._control.post("/agent/v1/claim", claim)
        self._control.use_token(str(answer["token"]))
        return str(answer["nonce"])

    def _deploy(self, task: Task) -> None:
        disk = self._target(task)
        say(f"target: {disk.describe()}")
        self._to_wipe(task)
        if task.image.file_size_bytes <= self._hardware.available_bytes():
            read_back = self._write_from_memory(task, disk)
        else:
            say("the image does not fit in memory: each chunk is verified, then written")
            chunks = fetch_verified_chunks(task.image, self._control.give_up_s)
            first = next(chunks)  # a wrong image file shows here, with the old disk intact
            read_back = self._write(task, disk, itertools.chain((first,), chunks))
        with self._timed("seed"):
            self._progress("seed", 0, 1, force=True)
            root = grow_root(disk.path)
            with self._hardware.open_root(root) as file_system:
                host_key = seed_root(file_system, task)
            write_stamp(disk.path, task.stamp)
        done = {
            "disk": self._target(task).to_json(),
            "content_sha256": task.image.content_sha256,
            "read_back_sha256": read_back,
            "ssh_host_key": host_key,
            "wiped": [disk.to_json() for disk in self._wiped],
            "removed_boot_entries": self._remove_boot_entries(),
            "seconds": {step: round(value, 2) for step, value in self._seconds.items()},
        }
        self._control.post("/agent/v1/done", done)
        say("done: " + ", ".join(f"{step} {value:.1f} s" for step, value in self._seconds.items()))

    def _target(self, task: Task) -> Disk:
        """Read the disks again and pick the target among what is there now."""
        disk = pick_disk(self._hardware.disks(), task.disk, task.image.content_size_bytes)
        check_content(disk, task.overwrite, task.stamp, will_be_wiped=bool(task.wipe))
        return disk

    def _write_from_memory(self, task: Task, disk: Disk) -> str:
        path = self._hardware.work_dir / "image"
        with self._timed("fetch"):
            fetch_to_file(task.image, path, self._reporter("fetch"), self._control.give_up_s)
        say("the image file is verified")
        try:
            return self._write(task, disk, path)
        finally:
            path.unlink(missing_ok=True)

    def _write(self, task: Task, disk: Disk, source: ImageSource) -> str:
        self._to_wipe(task)
        if (now := self._target(task)).path != disk.path:
            raise AgentError("no-disk", "the target disk changed", expected=disk.describe(), found=now.describe())
        answer = self._control.post("/agent/v1/go", {"disk": now.to_json(), "request_id": secrets.token_hex(32)})
        if answer.get("go") is not True:
            raise AgentError("refused", "the boot server did not say go", expected="go", found=str(answer)[:200])
        say(f"go (lease {answer.get('lease_epoch')}): writing {now.path}")
        self._wrote = True
        self._former = partition_guids({now.path, *(disk.path for disk in self._to_wipe(task))})
        if task.wipe:
            with self._timed("wipe"):
                self._wiped = Wiping(self._hardware.erase_methods, self._reporter("wipe")).run(self._to_wipe(task))
        with self._timed("write"):
            self._write_image(now, task, source)
        with self._timed("read-back"):
            found = read_back_sha256(now, task.image, task.stamp, self._reporter("read-back"))
        self._check_read_back(now, task.image, found)
        return found

    def _remove_boot_entries(self) -> list[str]:
        """Remove the firmware's entries for partitions that are gone now; one that stays does not stop the node."""
        gone = self._former - partition_guids(disk.path for disk in self._hardware.disks())
        try:
            variables = self._hardware.efi_variables() if gone else None
            removed = remove_stale_entries(variables, gone) if variables is not None else ()
        except (OSError, AgentError) as error:
            say(f"boot entries of the former system stay: {error}")
            return []
        for entry in removed:
            say(f"boot entry removed, its partition is gone: {entry}")
        return list(removed)

    def _to_wipe(self, task: Task) -> tuple[Disk, ...]:
        """Read the disks again and pick those to erase; none where none are to be."""
        return disks_to_wipe(self._hardware.disks(), task.wipe) if task.wipe else ()

    def _write_image(self, disk: Disk, task: Task, source: ImageSource) -> None:
        try:
            write_image(disk, task.image, task.stamp, source, self._reporter("write"))
        except AgentError as error:
            self._wrote = error.wrote
            raise

    def _check_read_back(self, disk: Disk, image: Image, found: str) -> None:
        if found != image.content_sha256:
            raise AgentError(
                "read-back", f"{disk.path} does not give back what was written",
                expected=image.content_sha256, found=found, wrote=True,
            )  # fmt: skip
        say("read back: the content is right")

    def _reporter(self, step: str) -> Report:
        last = [time.monotonic()]

        def report(done_bytes: int, total_bytes: int) -> None:
            if time.monotonic() - last[0] >= _PROGRESS_EVERY_S:
                last[0] = time.monotonic()
                self._progress(step, done_bytes, total_bytes)

        return report

    def _progress(self, step: str, done_bytes: int, total_bytes: int, *, force: bool = False) -> None:
        """Report progress; a server that is away does not stop a write, a server that says stop does."""
        body = {"step": step, "done_bytes": done_bytes, "total_bytes": total_bytes}
        try:
            answer = self._control.post("/agent/v1/progress", body, give_up_s=_PROGRESS_GIVE_UP_S if force else 0.0)
        except AgentError as error:
            if error.code == "server-unreachable":
                return
            raise
        if answer.get("continue") is not True:
            raise AgentError("refused", f"the boot server said stop during {step}", found=str(answer.get("why")))

    def _report_failure(self, error: AgentError) -> None:
        body = {
            "code": error.code,
            "what": error.what,
            "expected": error.expected,
            "found": error.found,
            "wrote": error.wrote,
        }
        with contextlib.suppress(AgentError):
            self._control.post("/agent/v1/failed", body, give_up_s=0.0 if error.code == "server-unreachable" else None)

    @contextlib.contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self._seconds[step] = self._seconds.get(step, 0.0) + time.monotonic() - started
