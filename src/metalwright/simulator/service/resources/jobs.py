"""The job queue of BMCs of Dell's kind: without a job, pending BIOS attributes stay pending for ever.

A change with an apply time makes its job itself; without one the client makes it. While a job is scheduled, other
changes and other jobs are refused.
"""

from __future__ import annotations

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import MANAGER, SYSTEM
from metalwright.simulator.service.routes import Answer, Call, Route, collection, link
from metalwright.simulator.state import Job

QUEUE = f"{MANAGER}/Oem/Dell/Jobs"
_SERVICE = f"{MANAGER}/Oem/Dell/DellJobService"
_CLEAR = f"{_SERVICE}/Actions/DellJobService.DeleteJobQueue"
_SETTINGS = f"{SYSTEM}/Bios/Settings"
_ENDED = ("Completed", "Failed")


def routes() -> list[Route]:
    """The queue and the service that empties it; a BMC of another maker answers 404."""
    return [
        Route(QUEUE, read=_queue, create=_make),
        Route(f"{QUEUE}/{{id}}", read=_job, delete=_delete),
        Route(_SERVICE, read=_service),
        Route(_CLEAR, create=_clear),
    ]


def settings_links(call: Call) -> Json:
    """What the BIOS settings resource says about the queue: members to merge into it."""
    return {"Oem": {"Dell": {"Jobs": link(QUEUE)}}} if call.bmc.spec.bmc.oem == "dell" else {}


def manager_links(call: Call) -> Json:
    """What the manager says about the service: a member of ``Links.Oem.Dell``."""
    return {"DellJobService": link(_SERVICE)} if call.bmc.spec.bmc.oem == "dell" else {}


def change_answer(call: Call, *, is_new: bool, has_apply_time: bool) -> Answer | None:
    """The answer to a change of pending attributes; raises :class:`Refusal` while another change is scheduled."""
    if call.bmc.spec.bmc.oem != "dell":
        return None
    waiting = _unfinished(call)
    if waiting and is_new:
        raise refuse("ResourceInUse", status=400)
    if waiting or not has_apply_time:
        return Answer(status=200, body={})
    return _accepted(_add(call))


def _unfinished(call: Call) -> list[Job]:
    return [job for job in call.bmc.state.jobs if job.state not in _ENDED]


def _add(call: Call) -> Job:
    state = call.bmc.state
    job = Job(id=f"JID_{len(state.jobs) + 1:012d}", started=call.bmc.system.now())
    state.jobs.append(job)
    call.bmc.system.save()
    return job


def _accepted(job: Job) -> Answer:
    return Answer(status=202, body={}, headers={"Location": f"{QUEUE}/{job.id}"})


def _is_here(call: Call) -> None:
    if call.bmc.spec.bmc.oem != "dell":
        raise refuse("ResourceMissingAtURI", call.path)


def _queue(call: Call) -> Json:
    _is_here(call)
    return collection(QUEUE, "DellJob", "Jobs", [job.id for job in call.bmc.state.jobs])


def _find(call: Call) -> Job:
    _is_here(call)
    for job in call.bmc.state.jobs:
        if job.id == call.params["id"]:
            return job
    raise refuse("ResourceMissingAtURI", call.path)


def _job(call: Call) -> Json:
    job = _find(call)
    return {
        "@odata.id": f"{QUEUE}/{job.id}",
        "@odata.type": "#DellJob.v1_4_0.DellJob",
        "Id": job.id,
        "Name": job.name,
        "JobType": job.kind,
        "JobState": job.state,
        "StartTime": job.started,
        "PercentComplete": 100 if job.state in _ENDED else 0,
    }


async def _make(call: Call) -> Answer:
    _is_here(call)
    if call.body.get("TargetSettingsURI") != _SETTINGS:
        raise refuse("PropertyMissing", "TargetSettingsURI")
    if any(job.state == "Running" for job in _unfinished(call)):
        raise refuse("ResourceExhaustion", "the job queue")
    if _unfinished(call):
        raise refuse("ResourceInUse", status=400)
    if not call.bmc.state.bios_pending:
        raise refuse("NoOperation")
    return _accepted(_add(call))


async def _delete(call: Call) -> Answer:
    job = _find(call)
    if not job.is_deletable:
        raise refuse("ResourceCannotBeDeleted", status=400)
    call.bmc.state.jobs.remove(job)
    call.bmc.system.save()
    return Answer(status=200, body={})


def _service(call: Call) -> Json:
    _is_here(call)
    return {
        "@odata.id": _SERVICE,
        "@odata.type": "#DellJobService.v1_3_0.DellJobService",
        "Id": "DellJobService",
        "Name": "Job service",
        "Actions": {"#DellJobService.DeleteJobQueue": {"target": _CLEAR}},
    }


async def _clear(call: Call) -> Answer:
    _is_here(call)
    if call.body.get("JobID") != "JID_CLEARALL_FORCE":
        raise refuse("ActionParameterMissing", "DeleteJobQueue", "JobID")
    call.bmc.state.jobs.clear()
    call.bmc.system.save()
    return Answer(status=200, body={})
