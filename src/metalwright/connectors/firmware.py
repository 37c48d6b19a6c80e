"""The verb FIRMWARE: an image of the site's catalogue goes to the BMC, and the journal knows before the BMC does."""

from __future__ import annotations

import hashlib
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metalwright.connectors.commands import Command
from metalwright.errors import BmcNoAnswerError, BmcRefusedError, DeployError, ImageError, UsageError
from metalwright.firmware.progress import TaskView
from metalwright.model.firmware import FirmwareImage
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.links import Topology, find
from metalwright.redfish.messages import describe
from metalwright.redfish.tasks import Task, monitor_of
from metalwright.redfish.updates import Offer, task_of_update, update_request, ways_offered
from metalwright.workspace import Workspace

CONNECT_S = 5.0
"""How long the boot server may take to accept a connection."""


@dataclass(frozen=True, slots=True)
class FirmwareDesk:
    """Hands images to the BMC of one node."""

    workspace: Workspace
    node: str

    def run(self, client: BlockingClient, topology: Topology, command: Command) -> list[str]:
        """Carry out one FIRMWARE command. Raises MetalwrightError."""
        component = command.options.get("component", "")
        journal = self.workspace.journal.firmware
        match command.target:
            case "state":
                return [json.dumps(self._state(client, topology))]
            case "push":
                targets = tuple(uri for uri in command.options.get("targets", "").split(",") if uri)
                return self._push(client, topology, component, command.options.get("version", ""), targets)
            case "reset":
                journal.reset(self.node, component)
                return [f"{component}: the host is restarted for it"]
            case "proven" | "failed" as outcome:
                journal.end(self.node, component, "proven" if outcome == "proven" else "failed", "seen by a deploy")
                return [f"{component}: {outcome}"]
        raise UsageError("FIRMWARE takes state, push, reset, proven or failed", where="@redfish", found=command.target)

    def _state(self, client: BlockingClient, topology: Topology) -> dict[str, Any]:
        """Every open update with what its task says now; the end of a task is remembered when it is first seen."""
        found = []
        for update in self.workspace.journal.firmware.open(self.node):
            looking = task_of_update(client.state, topology, update.task, is_accepted=update.is_accepted)
            task = client.run(looking)
            view = view_of(task) if task is not None else None
            if update.task_ended is None and is_over(view, is_accepted=update.is_accepted):
                self.workspace.journal.firmware.task_ended(self.node, update.component)
            found.append({**update.to_json(), "task_now": None if view is None else _plain(view)})
        return {"updates": found}

    def _push(
        self, client: BlockingClient, topology: Topology, component: str, version: str, targets: tuple[str, ...]
    ) -> list[str]:
        system = client.run(find(client.state, topology, "@system")).value
        image = self._image(system.get("Model"), component, version)
        service = client.run(find(client.state, topology, "@root/UpdateService")).value
        path = self._file(image)
        served = None if image.url else self._served(image, path)
        request = update_request(service, Offer(path, image.url or served, targets))
        if request is None:
            raise DeployError(
                "this BMC takes no firmware in a way that we can give it; nothing was sent",
                where=client.state.where("GET", str(service.get("@odata.id"))),
                expected="a multipart push, a push, or SimpleUpdate by HTTP or HTTPS with a file or url at hand",
                found=ways_offered(service),
                hint="give the image a url in firmware/ that the BMC can fetch, or update it with the maker's tool",
            )
        if served is not None and request.upload is None:
            require_boot_server(served)
        journal = self.workspace.journal.firmware
        journal.begin(self.node, image, None)
        try:
            response = client.write(request)
        except BmcNoAnswerError as error:
            return [f"{error.what}; the version tells"]
        except BmcRefusedError as error:
            journal.end(self.node, component, "failed", str(error.found or error.what))
            raise
        task = monitor_of(response)
        journal.accept(self.node, component, task)
        return [f"HTTP {response.status}: {describe(response)}", f"task {task or 'not named; the version tells'}"]

    def _image(self, model: object, component: str, version: str) -> FirmwareImage:
        for release in self.workspace.repository.firmware:
            for image in release.images if release.fits(str(model or "")) else ():
                if (image.component, image.version) == (component, version):
                    return image
        raise ImageError(
            "no such firmware image for this model", where=f"{component} {version}", found=f"model {model or 'unknown'}"
        )

    def _file(self, image: FirmwareImage) -> Path | None:
        """The image's file with its digest just compared; None where it is not here. Raises ImageError."""
        if image.file is None:
            return None
        path = self.workspace.paths.firmware_files / image.file
        if not path.is_file():
            if image.url is not None:
                return None
            raise ImageError(
                "the firmware image is not here", where=str(path), hint="copy it there; git does not keep it"
            )
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        if sha256 != image.file_sha256:
            raise ImageError(
                "this is not the firmware image that was approved; nothing was sent",
                where=str(path),
                expected=f"sha256 {image.file_sha256}",
                found=f"sha256 {sha256}",
                hint="fetch the file again from its maker; change the digest only by a reviewed commit",
            )
        return path

    def _served(self, image: FirmwareImage, path: Path | None) -> str | None:
        """Where the boot server has the file."""
        if path is None:
            return None
        server = self.workspace.repository.site.boot_server
        host = f"[{server.address_for_bmc}]" if ":" in server.address_for_bmc else server.address_for_bmc
        return f"http://{host}:{server.http_port}/firmware/{image.file_sha256}/{path.name}"


def require_boot_server(url: str) -> None:
    """Refuse where nothing listens at the address from which a BMC is to fetch ``url``.

    Only a refused connection is certain: an address that cannot be reached from here may well be reached by the BMC.
    """
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), CONNECT_S):
            return
    except ConnectionRefusedError as error:
        raise DeployError(
            "the BMC would fetch this image from the boot server, and that does not run; nothing was sent",
            where=url,
            expected="a server that answers there",
            found="the connection was refused",
            hint="keep `metalwright serve` running while firmware is updated (`metalwright provision` does so itself), "
            "or give the image a url in firmware/",
        ) from error
    except OSError:
        return


def view_of(task: Task) -> TaskView:
    """Return a task as the judge of updates wants it."""
    messages = "; ".join(f"{message.id} {message.text}".strip() for message in task.messages)
    is_ended = task.is_ended and task.state != "Gone"
    return TaskView(task.state, is_ended, task.is_failed, task.percent, messages)


def is_over(view: TaskView | None, *, is_accepted: bool) -> bool:
    """Whether nothing more is to be heard from a task."""
    return is_accepted if view is None else view.is_ended or view.state == "Gone"


def _plain(view: TaskView) -> dict[str, Any]:
    return {name: getattr(view, name) for name in TaskView.__slots__}
