"""Firmware updates: an image arrives, a task runs, the version changes (that of a BIOS at the next power-on).

A firmware image of the simulator begins with one line: ``metalwright-firmware ID VERSION``; ID is a member of the
firmware inventory, or ``*`` for the target that the request names. Anything else is refused by the task.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from metalwright.simulator.service.answers import Json, Message, Refusal, refuse
from metalwright.simulator.service.bmc import ROOT, Bmc, TaskRecord
from metalwright.simulator.service.fetching import fetch
from metalwright.simulator.service.routes import Answer, Call

STEPS = 4
_HEAD = re.compile(rb"metalwright-firmware (\S+) (\S.*?)\s*$")
_MULTIPART_NAME = re.compile(rb'name="?(\w+)"?')


def start_update(bmc: Bmc, known: list[str], *, url: str = "", image: bytes = b"", targets: list[str]) -> Answer:
    """Begin an update and answer 202 with its task; ``known`` are the ids of the firmware inventory."""
    number = f"{bmc.task_prefix}{len(bmc.tasks) + 1}"
    task = TaskRecord(number, "Firmware update", bmc.system.now())
    bmc.tasks[number] = task
    work = asyncio.get_running_loop().create_task(_run(bmc, task, known, url, image, targets))
    bmc.background.add(work)
    work.add_done_callback(bmc.background.discard)
    path = f"{ROOT}/TaskService/Tasks/{number}"
    body: Json = {"@odata.id": path, "@odata.type": "#Task.v1_7_4.Task", "Id": number, "Name": task.name}
    return Answer({**body, "TaskState": task.state, "TaskStatus": task.status}, 202, {"Location": path})


async def simple_update(call: Call, known: list[str]) -> Answer:
    """The action SimpleUpdate."""
    action = "UpdateService.SimpleUpdate"
    url, targets = call.body.get("ImageURI"), call.body.get("Targets", [])
    if not isinstance(url, str):
        raise refuse("ActionParameterMissing", action, "ImageURI")
    if urlsplit(url).scheme not in ("http", "https"):
        raise refuse("ActionParameterValueNotInList", urlsplit(url).scheme, "TransferProtocol", action)
    return start_update(call.bmc, known, url=url, targets=_check_targets(targets))


async def push(call: Call, known: list[str]) -> Answer:
    """A pushed image: multipart with UpdateParameters and UpdateFile, or the bare image."""
    parts = read_parts(call.headers.get("Content-Type", ""), call.raw)
    try:
        parameters = json.loads(parts.get("UpdateParameters", b"{}"))
    except ValueError:
        raise refuse("MalformedJSON") from None
    image = parts.get("UpdateFile", b"") if parts else call.raw
    if not image:
        raise refuse("PropertyMissing", "UpdateFile")
    return start_update(call.bmc, known, image=image, targets=_check_targets(parameters.get("Targets", [])))


def _check_targets(targets: object) -> list[str]:
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise refuse("PropertyValueTypeError", str(targets), "Targets")
    return targets


async def _run(bmc: Bmc, task: TaskRecord, known: list[str], url: str, image: bytes, targets: list[str]) -> None:
    try:
        found = _HEAD.match((await _head(url) if url else image).partition(b"\n")[0])
        if found is None:
            raise Refusal((Message("ResourceAtUriInUnknownFormat", ("the image",)),))
        await _progress(bmc, task)
        _install(bmc, known, found[1].decode(), found[2].decode(), targets)
    except Refusal as refusal:
        task.state, task.status = "Exception", "Critical"
        task.messages = [message.as_json() for message in refusal.messages]
    else:
        task.state, task.percent = "Completed", 100
        task.messages = [Message("Success").as_json()]
    task.ended = bmc.system.now()


async def _progress(bmc: Bmc, task: TaskRecord) -> None:
    for step in range(1, STEPS):
        await asyncio.sleep(bmc.update_s / STEPS)
        task.percent = 100 * step // STEPS
    await asyncio.sleep(bmc.update_s / STEPS)


async def _head(url: str) -> bytes:
    with TemporaryDirectory(prefix="firmware-") as folder:
        path = Path(folder) / "image"
        await fetch(url, path)
        with path.open("rb") as file:
            return file.read(4096)


def _install(bmc: Bmc, known: list[str], identity: str, version: str, targets: list[str]) -> None:
    wanted = [target.rstrip("/").rpartition("/")[2] for target in targets] if identity == "*" else [identity]
    unknown = [name for name in wanted if name not in known]
    if unknown or not wanted:
        raise Refusal((Message("PropertyValueNotInList", (", ".join(unknown) or "none", "Targets")),))
    state = bmc.state
    for name in wanted:
        is_staged = "bios" in name.lower() and bmc.system.power_state == "On"
        (state.firmware_staged if is_staged else state.firmware)[name] = version
        bmc.system.log.add("FirmwareStaged" if is_staged else "FirmwareInstalled", name, version)
        if "bmc" in name.lower() or "idrac" in name.lower() or "ilo" in name.lower() or "xcc" in name.lower():
            bmc.gate.sessions.clear()
    bmc.system.save()


def install_staged(bmc: Bmc) -> None:
    """What was staged is in force: at a power-on."""
    state = bmc.state
    for name, version in state.firmware_staged.items():
        bmc.system.log.add("FirmwareInstalled", name, version)
    state.firmware = {**state.firmware, **state.firmware_staged}
    state.firmware_staged = {}


def read_parts(content_type: str, raw: bytes) -> dict[str, bytes]:
    """The parts of a multipart body by name; ``{}`` when it is none."""
    match = re.search(r'boundary="?([^";]+)"?', content_type)
    if match is None:
        return {}
    parts = {}
    for piece in raw.split(b"--" + match[1].encode()):
        head, gap, body = piece.partition(b"\r\n\r\n")
        name = _MULTIPART_NAME.search(head)
        if gap and name is not None:
            parts[name[1].decode()] = body.removesuffix(b"\r\n")
    return parts


def version_of(bmc: Bmc, name: str, factory: str | None) -> str | None:
    """The version in force of a member of the firmware inventory."""
    return bmc.state.firmware.get(name, factory)
