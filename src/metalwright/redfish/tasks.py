"""Tasks: what a 202 means and how a task is followed to its end.

A task monitor that has vanished proves nothing: the caller reads the state that it wanted. ``TaskState`` and
``TaskStatus`` can contradict each other (Exception with OK, Completed with Critical); the worse one counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from metalwright.errors import BmcAnswerError, BmcRefusedError
from metalwright.redfish.dialogue import perform
from metalwright.redfish.messages import Message, describe, messages_in
from metalwright.redfish.policy import retry_after_s
from metalwright.redfish.state import BmcState
from metalwright.redfish.wire import Exchange, JsonObject, Request, Response, Sleep, path_of

ENDED = frozenset({"completed", "killed", "exception", "cancelled", "interrupted"})
FAILED = frozenset({"killed", "exception", "cancelled", "interrupted"})
WAITS_FOR_RESET = frozenset({"pending", "suspended", "scheduled", "new"})


@dataclass(frozen=True, slots=True)
class Task:
    """The last known state of a task. ``state`` is Redfish's TaskState, or ``Gone`` when the monitor vanished."""

    uri: str
    state: str
    status: str = ""
    percent: int | None = None
    messages: tuple[Message, ...] = field(default=())

    @property
    def is_ended(self) -> bool:
        """Whether the task does nothing any more."""
        return self.state.lower() in ENDED or self.state == "Gone"

    @property
    def is_failed(self) -> bool:
        """Whether the task says, by state or by status, that it failed."""
        return self.state.lower() in FAILED or (self.is_ended and self.status.lower() == "critical")


def monitor_of(response: Response) -> str | None:
    """Return the URI of the task that a response started, or None when it started none."""
    if response.status != 202:
        return None
    return path_of(response.header("location")) or path_of((response.json_object() or {}).get("@odata.id"))


def task_in(uri: str, response: Response) -> Task:
    """Return the task that a monitor's answer shows: the Task resource, or the final answer of the operation."""
    return task_from(uri, response.json_object() or {}, otherwise="Running" if response.status == 202 else "Completed")


def task_from(uri: str, body: JsonObject, *, otherwise: str) -> Task:
    """Return the task that a Task resource tells of; ``otherwise`` is its state where it tells none."""
    state = body.get("TaskState")
    if not isinstance(state, str):
        state = otherwise
    percent = body.get("PercentComplete")
    messages = body.get("Messages")
    return Task(
        uri=uri,
        state=state,
        status=str(body.get("TaskStatus") or ""),
        percent=percent if isinstance(percent, int) and not isinstance(percent, bool) else None,
        messages=messages_in({"@Message.ExtendedInfo": messages}) or messages_in(body),
    )


def follow(state: BmcState, response: Response, *, timeout_s: float, poll_s: float = 1.0) -> Exchange[Task | None]:
    """Follow the task that ``response`` started until it ends, waits for a reset, or ``timeout_s`` has passed.

    Returns None when there is no task, else its last known state: the caller decides whether "still running" will do.
    Raises BmcAnswerError for a 202 that names no task, BmcRefusedError for a task that failed.
    """
    if response.status != 202:
        return None
    uri = monitor_of(response)
    if uri is None:
        raise BmcAnswerError(
            "the BMC took the request for later but does not say where to look",
            where=response.request or state.base_url,
            status=202,
            expected="a Location header naming a task",
            hint="read the resource before trying again: it may have taken effect",
            found=describe(response, state.secrets),
        )
    give_up_at = state.clock() + timeout_s
    while True:
        try:
            answer = yield from perform(state, Request("GET", uri))
        except BmcRefusedError as error:
            if error.status not in (404, 410):
                raise
            return Task(uri, "Gone")
        task = task_in(uri, answer)
        if task.is_failed:
            raise _task_error(state, task)
        delay_s = retry_after_s(answer) or poll_s
        if task.is_ended or task.state.lower() in WAITS_FOR_RESET or state.clock() + delay_s > give_up_at:
            return task
        yield Sleep(delay_s)


def result_of(state: BmcState, response: Response, *, timeout_s: float, poll_s: float = 1.0) -> Exchange[Response]:
    """Return the answer that a request has in the end: ``response`` itself, or what its task monitor gives.

    A monitor answers 202, or shows the running task, until it gives the result; a Task resource names its monitor.
    Raises as :func:`follow`, and BmcAnswerError when ``timeout_s`` has passed or the monitor has vanished.
    """
    task = yield from follow(state, response, timeout_s=timeout_s, poll_s=poll_s)
    if task is None:
        return response
    if not task.is_ended or task.state == "Gone":
        raise BmcAnswerError(
            "the BMC took the request for later and gave no result",
            where=state.where("GET", task.uri),
            expected=f"the result within {timeout_s:g} s",
            found=f"task {task.state}",
            hint="look at the task; the BMC may still work on it",
        )
    answer = yield from perform(state, Request("GET", task.uri))
    monitor = path_of((answer.json_object() or {}).get("TaskMonitor"))
    if monitor is not None and monitor != task.uri:
        answer = yield from perform(state, Request("GET", monitor))
    return answer


def _task_error(state: BmcState, task: Task) -> BmcRefusedError:
    texts = [f"{message.id} {message.text}".strip() for message in task.messages]
    return BmcRefusedError(
        "the BMC accepted the request, but its task failed",
        where=state.where("GET", task.uri),
        expected="TaskState Completed",
        found=f"TaskState {task.state}, TaskStatus {task.status or 'not given'}; {'; '.join(texts)}",
        hint="repair what the BMC names, then try again; `metalwright sel` shows its log",
        message_ids=tuple(message.id for message in task.messages if message.id),
    )
