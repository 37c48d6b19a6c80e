"""The process that holds a lab: all BMCs, all machines, and a control port on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hmac
import json
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import aiohttp
from aiohttp import web
from pydantic import ValidationError

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault
from metalwright.simulator.layout import Layout
from metalwright.simulator.loopback import ensure_loopback_up
from metalwright.simulator.qemu.accelerator import find_accelerator, known_accelerator
from metalwright.simulator.qemu.firmware import find_firmware, find_qemu
from metalwright.simulator.running import RunningService, running_service
from metalwright.simulator.spec import LabSpec, read_lab_spec
from metalwright.simulator.status import LabStatus, as_json, describe_machine

_LOG = logging.getLogger("metalwright.lab")
_ANSWER_TIMEOUT_S = 20
DETACH = "--detach"
READY = b"ready\n"
_LOCK_TRIES = 20
_LOCK_PAUSE_S = 0.05


class LabDaemon:
    """Run with :meth:`run`; ends on SIGINT and SIGTERM."""

    def __init__(self, layout: Layout, spec: LabSpec) -> None:
        self.layout = layout
        self.spec = spec
        self.services: dict[str, RunningService] = {}
        self._token = secrets.token_urlsafe(24)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Start all machines' BMCs, tell that we are ready, wait, stop. Raises :class:`LabError`."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop.set)
        if any(machine.backend == "qemu" for machine in self.spec.machines):
            _LOG.info("accelerator: %s", await asyncio.to_thread(find_accelerator, find_qemu(), find_firmware()))
        async with contextlib.AsyncExitStack() as stack:
            for machine in self.spec.machines:
                folder = self.layout.machine(machine.name)
                service = await stack.enter_async_context(running_service(machine, machine_dir=folder))
                self.services[machine.name] = service
                await _wait_for_answer(service.url)
                _LOG.info("%s: BMC answers at %s", machine.name, service.url)
            port = await self._open_control(stack)
            stack.enter_context(self._announced(port))
            _say_ready()
            await self._stop.wait()
            _LOG.info("stopping")

    async def _open_control(self, stack: contextlib.AsyncExitStack) -> int:
        app = web.Application(middlewares=[self._check_token])
        app.router.add_get("/status", self._status)
        app.router.add_post("/machines/{name}/faults", self._set_fault)
        app.router.add_delete("/machines/{name}/faults", self._clear_faults)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port: int = runner.addresses[0][1]
        return port

    @contextlib.contextmanager
    def _announced(self, port: int) -> Iterator[None]:
        draft = self.layout.daemon_file.with_suffix(".new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"pid": os.getpid(), "port": port, "token": self._token}, file)
        draft.replace(self.layout.daemon_file)
        try:
            yield
        finally:
            self.layout.daemon_file.unlink(missing_ok=True)

    @web.middleware
    async def _check_token(self, request: web.Request, handler: Any) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            return web.json_response({"error": "wrong token"}, status=403)
        response: web.StreamResponse = await handler(request)
        return response

    async def _status(self, _request: web.Request) -> web.Response:
        return web.json_response(as_json(self.describe()))

    def describe(self) -> LabStatus:
        """The lab as it is now."""
        machines = [
            describe_machine(
                service.spec,
                service.machine_dir,
                service.system.state,
                service.system.log.entries,
                bmc_url=service.url,
                power=service.system.power_state,
                pid=getattr(service.system.machine, "pid", None),
                faults=[fault.name for fault in service.system.faults.active()],
            )
            for service in self.services.values()
        ]
        return LabStatus(
            name=self.spec.name,
            directory=str(self.layout.directory),
            is_up=True,
            pid=os.getpid(),
            accelerator=known_accelerator(),
            machines=machines,
        )

    def _find(self, request: web.Request) -> RunningService:
        service = self.services.get(request.match_info["name"])
        if service is None:
            raise web.HTTPNotFound(text=json.dumps({"error": "no such machine"}), content_type="application/json")
        return service

    async def _set_fault(self, request: web.Request) -> web.Response:
        service = self._find(request)
        try:
            fault = Fault.model_validate(await request.json())
            details = fault.model_dump(exclude={"name"})
            await service.set_fault(fault.name, **details)
        except (ValidationError, LabError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({})

    async def _clear_faults(self, request: web.Request) -> web.Response:
        self._find(request).system.faults.clear()
        return web.json_response({})


async def _wait_for_answer(url: str) -> None:
    timeout = aiohttp.ClientTimeout(total=_ANSWER_TIMEOUT_S)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as client, client.get(f"{url}/redfish/v1", ssl=False) as got:
            got.raise_for_status()
    except (aiohttp.ClientError, TimeoutError) as error:
        raise LabError("a BMC does not answer after its start", where=url, found=str(error)) from error


def _take_lock(lock: TextIO) -> bool:
    """Lock the file and write our process number into it; those who only look hold it for an instant."""
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE_S)
            continue
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        return True
    return False


def detach() -> None:
    """Leave the process that started us: our parent ends, we go on."""
    if os.fork() > 0:
        os._exit(0)


def _say_ready() -> None:
    """Tell whoever waits on our standard output, then let go of it."""
    os.write(sys.stdout.fileno(), READY)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def run_daemon(directory: Path) -> int:
    """Hold the lab in ``directory`` until told to stop; the exit code of the process."""
    layout = Layout(directory)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    with layout.lock_file.open("a") as lock:
        if not _take_lock(lock):
            _LOG.error("another process holds this lab")
            return 1
        try:
            ensure_loopback_up()
            asyncio.run(LabDaemon(layout, read_lab_spec(layout.spec_file)).run())
        except LabError as error:
            _LOG.error("%s", error)
            return 1
    return 0
