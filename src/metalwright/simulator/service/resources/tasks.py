"""TaskService."""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import ROOT
from metalwright.simulator.service.routes import Answer, Call, Route, link, listing

_PATH = f"{ROOT}/TaskService"


def routes() -> list[Route]:
    """The service and its tasks."""
    return [
        Route(_PATH, read=_service),
        listing(f"{_PATH}/Tasks", "Task", "Tasks", lambda call: call.bmc.tasks),
        Route(f"{_PATH}/Tasks/{{id}}", read=_task, delete=_delete),
        Route(f"{_PATH}/TaskMonitors/{{id}}", read=_monitor),
    ]


def _service(call: Call) -> Json:
    return {
        "@odata.id": _PATH,
        "@odata.type": "#TaskService.v1_2_1.TaskService",
        "Id": "TaskService",
        "Name": "Task service",
        "ServiceEnabled": True,
        "DateTime": call.bmc.system.now(),
        "CompletedTaskOverWritePolicy": "Oldest",
        "LifeCycleEventOnTaskStateChange": False,
        "Status": {"State": "Enabled", "Health": "OK"},
        "Tasks": link(f"{_PATH}/Tasks"),
    }


def _task(call: Call) -> Json:
    task = call.bmc.tasks.get(call.params["id"])
    if task is None:
        raise refuse("ResourceMissingAtURI", call.path)
    body: Json = {
        "@odata.id": f"{_PATH}/Tasks/{task.id}",
        "@odata.type": "#Task.v1_7_4.Task",
        "Id": task.id,
        "Name": task.name,
        "TaskState": task.state,
        "TaskStatus": task.status,
        "PercentComplete": task.percent,
        "StartTime": task.started,
        "Messages": task.messages,
    }
    if task.ended is not None:
        body["EndTime"] = task.ended
    return body


def _monitor(call: Call) -> Json:
    """The result of the request; the first look finds the task still running."""
    task = call.bmc.tasks.get(call.params["id"])
    if task is None or task.result is None:
        raise refuse("ResourceMissingAtURI", call.path)
    if task.state == "Completed":
        return task.result
    running = _task(call)
    task.state, task.percent, task.ended = "Completed", 100, call.bmc.system.now()
    return running


async def _delete(call: Call) -> Answer:
    if call.bmc.tasks.pop(call.params["id"], None) is None:
        raise refuse("ResourceMissingAtURI", call.path)
    return Answer(status=204)
