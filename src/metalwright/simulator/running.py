"""Start the simulated BMC of one machine inside a test or another program.

::

    async with running_service(MachineSpec(), "127.81.0.5") as service:
        ...  # talk to service.url as service.user with service.password

    with service_in_thread(MachineSpec(), "127.81.0.5") as service:
        ...  # for blocking clients in the calling thread

    with service_in_process(MachineSpec(), "127.81.0.5") as service:
        ...  # a process of its own, for clients that patch the interpreter or are killed

``service.system`` (not for ``service_in_process``) gives the judge's view: ``boot_counts``, ``log.entries``,
``power_state``, ``state``, ``faults.set("reset-ignored", times=1)``.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from metalwright.errors import LabError
from metalwright.simulator.hardware import Machine
from metalwright.simulator.memory import MemoryMachine
from metalwright.simulator.qemu.machine import QemuMachine
from metalwright.simulator.service.bmc import Bmc
from metalwright.simulator.service.endpoint import Endpoint
from metalwright.simulator.service.resources import lab_routes
from metalwright.simulator.service.traffic import Traffic
from metalwright.simulator.service.updates import install_staged
from metalwright.simulator.spec import LabSpec, MachineSpec, dump_lab_spec
from metalwright.simulator.system import SimulatedSystem
from metalwright.simulator.threads import in_thread

_START_TIMEOUT_S = 20.0


@dataclasses.dataclass
class RunningService:
    """A BMC that answers. ``machine_dir`` holds its disks (``disks/<serial>.raw``), console and event log."""

    spec: MachineSpec
    machine_dir: Path
    system: SimulatedSystem
    endpoint: Endpoint

    @property
    def url(self) -> str:
        """``https://address:port``; it follows the BMC when its address is changed."""
        return self.endpoint.url

    @property
    def bmc(self) -> Bmc:
        """The service's own view: sessions, tasks."""
        return self.endpoint.bmc

    @property
    def traffic(self) -> Traffic:
        """What the BMC saw: every request."""
        return self.bmc.traffic

    @property
    def user(self) -> str:
        """The factory user."""
        return self.spec.bmc.user

    @property
    def password(self) -> str:
        """The factory password."""
        return self.spec.bmc.password.get_secret_value()

    @property
    def disks(self) -> dict[str, Path]:
        """Serial → disk file."""
        return {disk.serial: self.machine_dir / "disks" / f"{disk.serial}.raw" for disk in self.spec.disks}

    async def set_fault(self, name: str, **details: object) -> None:
        """Put a fault in force; see :data:`metalwright.simulator.faults.KINDS`."""
        self.system.faults.set(name, **details)
        if name == "certificate-changed":
            await self.endpoint.renew_certificate()


def make_machine(spec: MachineSpec, machine_dir: Path) -> Machine:
    """The back end that the spec asks for; raises :class:`LabError` when it cannot run here."""
    machine_dir.mkdir(parents=True, exist_ok=True)
    if spec.backend == "memory":
        return MemoryMachine(spec, machine_dir)
    return QemuMachine(spec, machine_dir)


@contextlib.asynccontextmanager
async def running_service(
    machine: MachineSpec, address: str | None = None, port: int = 0, machine_dir: Path | None = None
) -> AsyncIterator[RunningService]:
    """Run the BMC of ``machine`` in this event loop.

    ``address`` and ``port`` replace those of the spec (port 0: a free one); without ``machine_dir`` the machine
    lives in a temporary folder. Raises :class:`LabError` when it cannot listen. The power is cut on the way out.
    """
    spec = machine
    if address is not None:
        spec = spec.model_copy(update={"bmc": spec.bmc.model_copy(update={"address": address, "port": port})})
    with contextlib.ExitStack() as stack:
        folder = machine_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="machine-")))
        system = SimulatedSystem(spec, folder, make_machine(spec, folder))
        bmc = Bmc(system, lab_routes())
        system.at_power_on = functools.partial(install_staged, bmc)
        endpoint = Endpoint(bmc)
        try:
            await endpoint.start()
        except OSError as error:
            await system.close()
            raise LabError("the BMC cannot listen", where=endpoint.url, found=str(error)) from error
        try:
            yield RunningService(spec, folder, system, endpoint)
        finally:
            await endpoint.stop()
            await system.close()


@contextlib.contextmanager
def service_in_thread(
    machine: MachineSpec, address: str | None = None, port: int = 0, machine_dir: Path | None = None
) -> Iterator[RunningService]:
    """Like :func:`running_service`, in a thread with its own event loop.

    Read ``service.system`` freely from the calling thread; set faults before the request that shall meet them.
    """
    context = running_service(machine, address, port, machine_dir)
    with in_thread(context, f"bmc-{machine.name}", _START_TIMEOUT_S) as service:
        yield service


@dataclasses.dataclass(frozen=True)
class ServiceProcess:
    """A BMC in a process of its own; ``machine_dir`` is where its log and disks are."""

    url: str
    user: str
    password: str
    machine_dir: Path
    pid: int


@contextlib.contextmanager
def service_in_process(
    machine: MachineSpec, address: str | None = None, port: int = 0, machine_dir: Path | None = None
) -> Iterator[ServiceProcess]:
    """Like :func:`running_service`, in a child process that ends with the block."""
    bmc = machine.bmc
    if address is not None:
        bmc = bmc.model_copy(update={"address": address, "port": port})
    spec = LabSpec(machines=(machine.model_copy(update={"bmc": bmc}),))
    with contextlib.ExitStack() as stack:
        folder = machine_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="machine-")))
        folder.mkdir(parents=True, exist_ok=True)
        child = subprocess.Popen(
            [sys.executable, "-m", "metalwright.simulator.running", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.enter_context(child)
        stack.callback(_stop, child)
        if child.stdin is None or child.stdout is None:
            raise LabError("the BMC process has no pipes", where=machine.name)
        child.stdin.write(json.dumps(dump_lab_spec(spec)) + "\n")
        child.stdin.flush()
        url = child.stdout.readline().strip()
        if not url:
            raise LabError("the BMC process did not start", where=machine.name)
        yield ServiceProcess(url, bmc.user, bmc.password.get_secret_value(), folder, child.pid)


def _stop(child: subprocess.Popen[str]) -> None:
    if child.stdin is not None:
        child.stdin.close()  # the child ends when its standard input does, also if we are killed
    try:
        child.wait(_START_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()


async def _serve_until_stdin_ends(folder: Path) -> None:
    spec = LabSpec.model_validate_json(await asyncio.to_thread(sys.stdin.readline))
    async with running_service(spec.machines[0], machine_dir=folder) as service:
        sys.stdout.write(f"{service.url}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve_until_stdin_ends(Path(sys.argv[1])))
