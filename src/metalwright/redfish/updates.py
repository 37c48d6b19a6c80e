"""Ways to hand a firmware image to a BMC, and what its task says now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metalwright.errors import BmcAnswerError, BmcAuthError, BmcRefusedError, BmcUnreachableError
from metalwright.redfish.dialogue import perform
from metalwright.redfish.links import find
from metalwright.redfish.state import BmcState
from metalwright.redfish.tasks import WAITS_FOR_RESET, Task, task_from, task_in
from metalwright.redfish.walking import Topology
from metalwright.redfish.wire import Exchange, JsonObject, Request, Upload

UPLOAD_S = 900.0
"""How long a BMC may take to swallow an image."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What an image can be sent as: the file at hand, and a URL where the BMC can fetch the same bytes."""

    path: Path | None
    url: str | None
    targets: tuple[str, ...] = ()


def update_request(service: JsonObject, offer: Offer) -> Request | None:
    """Return the request that starts an update in the best way that the BMC offers, or None where nothing fits.

    A multipart push comes first (it names its targets and needs no server), then a download by the BMC, then the bare
    push, which cannot name targets.
    """
    named = {"Targets": list(offer.targets)} if offer.targets else {}
    multipart, bare = service.get("MultipartHttpPushUri"), service.get("HttpPushUri")
    if isinstance(multipart, str) and multipart and offer.path is not None:
        return Request("POST", multipart, timeout_s=UPLOAD_S, upload=Upload(offer.path, named))
    action = _simple_update(service)
    if action is not None and offer.url is not None and _takes(action, offer.url):
        body: dict[str, Any] = {"ImageURI": offer.url, **named}
        if "TransferProtocol@Redfish.AllowableValues" in action:
            body["TransferProtocol"] = urlsplit(offer.url).scheme.upper()
        return Request("POST", action["target"], body)
    if isinstance(bare, str) and bare and offer.path is not None and not offer.targets:
        return Request("POST", bare, timeout_s=UPLOAD_S, upload=Upload(offer.path))
    return None


def ways_offered(service: JsonObject) -> str:
    """Return the ways to update that a BMC offers, for people."""
    ways = [name for name in ("MultipartHttpPushUri", "HttpPushUri") if service.get(name)]
    action = _simple_update(service)
    if action is not None:
        protocols = action.get("TransferProtocol@Redfish.AllowableValues")
        ways.append("SimpleUpdate" + (f" by {', '.join(map(str, protocols))}" if isinstance(protocols, list) else ""))
    return ", ".join(ways) or "none"


def _simple_update(service: JsonObject) -> Mapping[str, Any] | None:
    actions = service.get("Actions")
    action = actions.get("#UpdateService.SimpleUpdate") if isinstance(actions, Mapping) else None
    return action if isinstance(action, Mapping) and isinstance(action.get("target"), str) else None


def _takes(action: Mapping[str, Any], url: str) -> bool:
    allowed: Sequence[Any] | None = action.get("TransferProtocol@Redfish.AllowableValues")
    return not isinstance(allowed, list) or urlsplit(url).scheme.upper() in allowed


def look_at_task(state: BmcState, uri: str) -> Exchange[Task]:
    """Return what a task says now; ``Gone`` where it has vanished, ``Silent`` where the BMC does not answer.

    A BMC that updates itself does both; neither proves anything.
    """
    try:
        answer = yield from perform(state, Request("GET", uri))
    except BmcRefusedError as error:
        return Task(uri, "Gone" if error.status in (404, 410) else "Silent")
    except (BmcUnreachableError, BmcAnswerError, BmcAuthError):
        return Task(uri, "Silent")
    return task_in(uri, answer)


def task_of_update(state: BmcState, topology: Topology, uri: str | None, *, is_accepted: bool) -> Exchange[Task | None]:
    """Return what the task of an update says now; None: the BMC named none, and runs none that could be it.

    Where the answer that would have named it never came (``is_accepted`` false), any task that runs is taken for it:
    a second image is not sent into an update that may be going on.
    """
    if uri is not None:
        return (yield from look_at_task(state, uri))
    if is_accepted:
        return None
    try:
        listed = yield from find(state, topology, "@root/Tasks/Tasks/*")
    except BmcUnreachableError:
        return Task("", "Silent")
    except (BmcAnswerError, BmcRefusedError):
        return None
    for body in listed.value["Members"]:
        task = task_from(str(body.get("@odata.id") or ""), body, otherwise="Completed")
        if not task.is_ended and task.state.lower() not in WAITS_FOR_RESET:
            return task
    return None
