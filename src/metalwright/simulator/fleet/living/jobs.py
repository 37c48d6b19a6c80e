"""A job queue beside the tasks: BIOS changes wait in it until a job is made, and run at the next power-on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalwright.simulator.fleet.living.own import own
from metalwright.simulator.service.answers import Json, Message, refuse, success
from metalwright.simulator.service.bmc import ROOT, TaskRecord
from metalwright.simulator.service.routes import Answer, Call

if TYPE_CHECKING:
    from metalwright.simulator.fleet.binding import Bindings
    from metalwright.simulator.fleet.bmc import TreeBmc

_TYPE = "#DellJob.v1_5_0.DellJob"


def bind(bindings: Bindings, path: str, body: Json) -> None:
    """POST makes a configuration job; members are the jobs of this BMC. Only under a manager."""
    del body
    if "/Managers/" not in path:
        return
    bindings.jobs = path
    bindings.lives(path, _show)
    bindings.creates[path] = _create
    bindings.power_on.append(_run)
    service = path.rpartition("/")[0] + "/DellJobService/Actions/DellJobService.DeleteJobQueue"
    bindings.creates[service] = _clear
    bindings.deletes = _delete


def schedule(bmc: TreeBmc) -> Answer:
    """Make the job that applies pending BIOS attributes at the next power-on."""
    number = f"JID_{900000000000 + len(bmc.tasks) + 1}"
    bmc.tasks[number] = TaskRecord(number, "ConfigBIOS:BIOS.Setup.1-1", bmc.system.now(), state="Pending")
    bmc.system.is_bios_held = False
    _publish(bmc, number)
    path = f"{ROOT}/TaskService/Tasks/{number}"
    return Answer(success(), 202, {"Location": path})


def _publish(bmc: TreeBmc, number: str) -> None:
    task = bmc.tasks[number]
    path = f"{bmc.tree_routes.bindings.jobs}/{number}"
    state = {"Pending": "Scheduled", "Completed": "Completed"}.get(task.state, "Running")
    bmc.added[path] = {
        "@odata.id": path,
        "@odata.type": _TYPE,
        "Id": number,
        "Name": task.name,
        "JobType": "BIOSConfiguration",
        "JobState": state,
        "PercentComplete": task.percent,
        "StartTime": task.started,
        "EndTime": task.ended,
        "Message": f"Job {state.lower()}.",
        "MessageId": "JCP000",
        "TargetSettingsURI": None,
    }


def _show(call: Call, body: Json) -> None:
    bmc = own(call)
    jobs = [path for path in bmc.added if path.startswith(f"{call.path}/")]
    body["Members"] = [{"@odata.id": path} for path in jobs]
    body["Members@odata.count"] = len(jobs)


async def _create(call: Call) -> Answer:
    bmc = own(call)
    if not isinstance(call.body.get("TargetSettingsURI"), str):
        raise refuse("PropertyMissing", "TargetSettingsURI", about="TargetSettingsURI")
    if not bmc.system.is_bios_held:
        raise refuse("PendingJobExists")
    if not bmc.state.bios_pending:
        raise refuse("NoOperation")
    answer = schedule(bmc)
    return Answer(answer.body, 200, {"Location": str(answer.headers["Location"])})


async def _clear(call: Call) -> Answer:
    bmc = own(call)
    _forget(bmc, [path for path in bmc.added if path.startswith(f"{bmc.tree_routes.bindings.jobs}/")])
    return Answer(success())


async def _delete(call: Call) -> Answer:
    bmc = own(call)
    if call.path not in bmc.added:
        raise refuse("ResourceMissingAtURI", call.path)
    _forget(bmc, [call.path])
    return Answer(success())


def _forget(bmc: TreeBmc, paths: list[str]) -> None:
    for path in paths:
        task = bmc.tasks.pop(path.rpartition("/")[2], None)
        if task is not None and task.state == "Pending":
            bmc.state.bios_pending, bmc.system.is_bios_held = {}, True
        del bmc.added[path]


def _run(bmc: TreeBmc) -> None:
    """At power-on: what was scheduled is done; the attributes themselves were applied just before."""
    for number, task in bmc.tasks.items():
        if task.state == "Pending":
            task.state, task.percent, task.ended = "Completed", 100, bmc.system.now()
            task.messages = [Message("Success").as_json()]
            _publish(bmc, number)
    bmc.system.is_bios_held = True
