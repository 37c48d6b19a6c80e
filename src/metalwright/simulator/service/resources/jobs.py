"""The job queue of BMCs of Dell's kind: without a job, pending BIOS attributes stay pending for ever.

A change with an apply time makes its job itself; without one the client makes it. While a job is scheduled, other
changes and other jobs are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from metalwright.simulator.service.answers import Json, refuse
from metalwright.simulator.service.bmc import MANAGER, SYSTEM
from metalwright.simulator.service.routes import Answer, Call, Route, collection, link
from metalwright.simulator.state import Job

_ENDED = ("Completed", "Failed")


@dataclass(frozen=True)
class JobQueue:
    """The queue at ``path``, for changes of the BIOS settings at ``settings``."""

    path: str
    settings: str

    @property
    def service(self) -> str:
        """The service that empties the queue."""
        return f"{self.path.rpartition('/')[0]}/DellJobService"

    def routes(self) -> list[Route]:
        """The queue and its service; a BMC of another maker answers 404."""
        return [
            Route(self.path, read=self._queue, create=self._make),
            Route(f"{self.path}/{{id}}", read=self._job, delete=self._delete),
            Route(self.service, read=self._service),
            Route(f"{self.service}/Actions/DellJobService.DeleteJobQueue", create=self._clear),
        ]

    def change_answer(self, call: Call, *, is_new: bool, has_apply_time: bool) -> Answer | None:
        """The answer to a change of pending attributes; raises :class:`Refusal` while another change is scheduled."""
        if call.bmc.spec.bmc.oem != "dell":
            return None
        waiting = _unfinished(call)
        if waiting and is_new:
            raise refuse("ResourceInUse", status=400)
        if waiting or not has_apply_time:
            return Answer(status=200, body={})
        return self._accepted(_add(call))

    def _accepted(self, job: Job) -> Answer:
        return Answer(status=202, body={}, headers={"Location": f"{self.path}/{job.id}"})

    def _queue(self, call: Call) -> Json:
        _is_here(call)
        return collection(self.path, "DellJob", "Jobs", [job.id for job in call.bmc.state.jobs])

    def _job(self, call: Call) -> Json:
        job = _find(call)
        return {
            "@odata.id": f"{self.path}/{job.id}",
            "@odata.type": "#DellJob.v1_4_0.DellJob",
            "Id": job.id,
            "Name": job.name,
            "JobType": job.kind,
            "JobState": job.state,
            "StartTime": job.started,
            "PercentComplete": 100 if job.state in _ENDED else 0,
        }

    async def _make(self, call: Call) -> Answer:
        _is_here(call)
        if call.body.get("TargetSettingsURI") != self.settings:
            raise refuse("PropertyMissing", "TargetSettingsURI")
        if any(job.state == "Running" for job in _unfinished(call)):
            raise refuse("ResourceExhaustion", "the job queue")
        if _unfinished(call):
            raise refuse("ResourceInUse", status=400)
        if not call.bmc.state.bios_pending:
            raise refuse("NoOperation")
        return self._accepted(_add(call))

    async def _delete(self, call: Call) -> Answer:
        job = _find(call)
        if not job.is_deletable:
            raise refuse("ResourceCannotBeDeleted", status=400)
        call.bmc.state.jobs.remove(job)
        call.bmc.system.save()
        return Answer(status=200, body={})

    def _service(self, call: Call) -> Json:
        _is_here(call)
        target = f"{self.service}/Actions/DellJobService.DeleteJobQueue"
        return {
            "@odata.id": self.service,
            "@odata.type": "#DellJobService.v1_3_0.DellJobService",
            "Id": "DellJobService",
            "Name": "Job service",
            "Actions": {"#DellJobService.DeleteJobQueue": {"target": target}},
        }

    async def _clear(self, call: Call) -> Answer:
        _is_here(call)
        if call.body.get("JobID") != "JID_CLEARALL_FORCE":
            raise refuse("ActionParameterMissing", "DeleteJobQueue", "JobID")
        call.bmc.state.jobs.clear()
        call.bmc.system.save()
        return Answer(status=200, body={})


LAB_QUEUE = JobQueue(f"{MANAGER}/Oem/Dell/Jobs", f"{SYSTEM}/Bios/Settings")


def routes() -> list[Route]:
    """The lab's queue."""
    return LAB_QUEUE.routes()


def settings_links(call: Call) -> Json:
    """What the BIOS settings resource says about the queue: members to merge into it."""
    return {"Oem": {"Dell": {"Jobs": link(LAB_QUEUE.path)}}} if call.bmc.spec.bmc.oem == "dell" else {}


def manager_links(call: Call) -> Json:
    """What the manager says about the service: a member of ``Links.Oem.Dell``."""
    return {"DellJobService": link(LAB_QUEUE.service)} if call.bmc.spec.bmc.oem == "dell" else {}


def _unfinished(call: Call) -> list[Job]:
    return [job for job in call.bmc.state.jobs if job.state not in _ENDED]


def _add(call: Call) -> Job:
    state = call.bmc.state
    job = Job(id=f"JID_{len(state.jobs) + 1:012d}", started=call.bmc.system.now())
    state.jobs.append(job)
    call.bmc.system.save()
    return job


def _is_here(call: Call) -> None:
    if call.bmc.spec.bmc.oem != "dell":
        raise refuse("ResourceMissingAtURI", call.path)


def _find(call: Call) -> Job:
    _is_here(call)
    for job in call.bmc.state.jobs:
        if job.id == call.params["id"]:
            return job
    raise refuse("ResourceMissingAtURI", call.path)
