"""The listeners of a fleet: one port, a socket for each BMC, whose address picks the BMC."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import resource
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault
from metalwright.simulator.fleet.aiming import misaimed_groups
from metalwright.simulator.fleet.binding import TreeRoutes
from metalwright.simulator.fleet.bmc import TreeBmc
from metalwright.simulator.fleet.plan import FaultGroup
from metalwright.simulator.fleet.tree import Identity, Tree
from metalwright.simulator.recipes import faults_of
from metalwright.simulator.service.acceptor import Acceptor, Door
from metalwright.simulator.service.app import MAX_BODY_BYTES, answer_request
from metalwright.simulator.service.pace import Pace
from metalwright.simulator.service.tls import ensure_certificate, server_context, write_pem
from metalwright.simulator.threads import in_thread

_ANY = "0.0.0.0"  # noqa: S104 - only bound to find a port that is free on all of 127.0.0.0/8, never listened on
_SPARE_DESCRIPTORS = 1024
_LINGER_S = 0.3
_CERTIFICATES = 64
_START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Manner:
    """How all BMCs of a fleet behave: seconds per answer, requests at once, what happens to more, records, $expand."""

    latency_s: float = 0.0
    in_flight: int = 0
    refuses: bool = False
    keep: int = 100
    expands: bool = False


class Fleet:
    """All BMCs, by the address where they are now."""

    def __init__(self, folder: Path, manner: Manner) -> None:
        self.folder = folder
        self.manner = manner
        self.port = 0
        self.bmcs: dict[str, TreeBmc] = {}
        self._routes: dict[int, TreeRoutes] = {}
        self._contexts: list[tuple[ssl.SSLContext, bytes]] = []
        self._doors: dict[str, Door] = {}
        self._server: web.Server | None = None
        self._acceptor = Acceptor(self._find_door)
        self._leaving: set[asyncio.Task[None]] = set()

    def add(self, identity: Identity, tree: Tree, groups: Sequence[FaultGroup] = ()) -> TreeBmc:
        """Make one BMC that listens; faults of the groups that mean it are in force at once.

        Raises :class:`LabError` when its address is taken.
        """
        routes = self._routes.get(id(tree))
        if routes is None:
            routes = self._routes[id(tree)] = TreeRoutes(tree)
        bmc = TreeBmc(routes, identity, self.port, self.folder, self.manner.keep)
        bmc.pace = Pace(self.manner.latency_s, self.manner.in_flight, refuse=self.manner.refuses)
        bmc.expands = self.manner.expands
        self.bmcs[identity.address] = bmc
        self._listen(identity.address)
        bmc.mover = _Move(self, identity.address)
        for group in groups:
            if group.fits(identity, tree.name):
                for fault in group.faults:
                    self.set_fault(bmc, fault)
        return bmc

    def set_fault(self, bmc: TreeBmc, fault: Fault) -> None:
        """Put one fault in force, or those of the recipe that it names."""
        for each in faults_of(fault):
            bmc.system.faults.set(each.name, **each.model_dump(exclude={"name"}, exclude_unset=True))
            if each.name == "certificate-changed":
                self._doors[bmc.address] = self._make_door(bmc, renew=True)

    def misaimed(self, groups: Sequence[FaultGroup]) -> list[str]:
        """The faults of these groups that can never bite at the BMCs that they mean."""
        bmcs = [(bmc.identity, bmc.tree_routes.tree) for bmc in self.bmcs.values()]
        return list(misaimed_groups(groups, bmcs, self._routes))

    async def start(self, port: int = 0) -> None:
        """Find a port for all; raises :class:`LabError` when it is taken."""
        self._server = web.Server(self._handle, request_factory=_make_request, access_log=None)
        try:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((_ANY, port))
                self.port = probe.getsockname()[1]
        except OSError as error:
            raise _taken(f"port {port}", error) from error

    def _listen(self, address: str) -> None:
        try:
            self._acceptor.listen(address, self.port)
        except OSError as error:
            raise _taken(f"{address}:{self.port}", error) from error

    async def stop(self) -> None:
        """Close the listener, all connections and all work."""
        await self._acceptor.stop()
        tasks = [*self._leaving, *(task for bmc in self.bmcs.values() for task in bmc.background)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._server is not None:
            transports = [handler.transport for handler in self._server.connections]
            await self._server.shutdown(1.0)
            for transport in transports:
                if transport is not None:
                    transport.abort()
            await asyncio.sleep(0.01)

    def rename(self, old: str, new: str) -> None:
        """A BMC answers at another address; the old one stays for a moment."""
        if new in self.bmcs:
            raise OSError(f"address {new} is taken")
        self._acceptor.listen(new, self.port)
        self.bmcs[new] = self.bmcs[old]
        if old in self._doors:
            self._doors[new] = self._doors[old]
        task = asyncio.get_running_loop().create_task(self._leave(old))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _leave(self, address: str) -> None:
        await asyncio.sleep(_LINGER_S)
        self._acceptor.leave(address)
        self.bmcs.pop(address, None)
        self._doors.pop(address, None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        bmc = self.bmcs.get(transport.get_extra_info("sockname")[0]) if transport is not None else None
        if bmc is None:
            raise web.HTTPGone
        return await answer_request(bmc, request)

    def _find_door(self, address: str) -> Door | None:
        bmc = self.bmcs.get(address)
        if bmc is None:
            return None
        door = self._doors.get(address)
        if door is None:
            door = self._doors[address] = self._make_door(bmc)
        return door

    def door_of(self, address: str) -> Door | None:
        """How connections to the BMC at an address are met; None where nobody lives."""
        return self._find_door(address)

    def install(self, bmc: TreeBmc, pem: bytes) -> None:
        """Give one BMC a key and certificate of its own: new connections see it."""
        if self._server is not None:
            context = server_context(write_pem(self.folder, pem))
            self._doors[bmc.address] = Door(bmc.system.faults, context, self._server, pem)

    def _make_door(self, bmc: TreeBmc, *, renew: bool = False) -> Door:
        """A few certificates for all: a context of its own for each BMC costs more memory than all the rest."""
        slot = bmc.identity.number % _CERTIFICATES
        if renew:
            context, pem = self._make_context("renewed")
        else:
            while len(self._contexts) <= slot:
                self._contexts.append(self._make_context(f"slot-{len(self._contexts)}"))
            context, pem = self._contexts[slot]
        if self._server is None:
            raise LabError("the fleet does not listen", where=bmc.address)
        return Door(bmc.system.faults, context, self._server, pem)

    def _make_context(self, name: str) -> tuple[ssl.SSLContext, bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = ensure_certificate(self.folder, f"bmc-{name}", renew=True)
        return server_context(path), path.read_bytes()


def _taken(where: str, error: OSError) -> LabError:
    hint = "another program listens there; --port names another one"
    if error.errno == errno.EMFILE:
        hint = "each BMC needs a file of its own; ulimit -n allows more"
    return LabError("the BMCs cannot listen", where=where, found=str(error), hint=hint)


def allow_sockets(count: int) -> None:
    """Let this process open a socket for each of ``count`` BMCs, and connections beside, as far as the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + _SPARE_DESCRIPTORS
    if soft < wanted:
        top = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (top, hard))


class _Move:
    """What a BMC calls when its address changes."""

    def __init__(self, fleet: Fleet, address: str) -> None:
        self._fleet = fleet
        self._address = address

    async def move(self, address: str) -> None:
        """Answer there; raises :class:`OSError` when the address is taken."""
        self._fleet.rename(self._address, address)
        self._address = address

    async def renew_certificate(self) -> None:
        """Go on with another certificate."""
        self._fleet.set_fault(self._fleet.bmcs[self._address], Fault(name="certificate-changed"))

    async def install_certificate(self, pem: bytes) -> None:
        """Go on with this key and certificate."""
        self._fleet.install(self._fleet.bmcs[self._address], pem)

    def certificate(self) -> bytes:
        """What is served now."""
        door = self._fleet.door_of(self._address)
        return door.pem if door is not None else b""


def _make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    return web.BaseRequest(
        message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=MAX_BODY_BYTES
    )


@contextlib.asynccontextmanager
async def running_fleet(
    bmcs: Sequence[tuple[Identity, Tree]],
    *,
    port: int = 0,
    manner: Manner = Manner(),
    groups: Sequence[FaultGroup] = (),
) -> AsyncIterator[Fleet]:
    """Run a fleet in this event loop; ``port`` 0 takes a free one, the same for all."""
    allow_sockets(len(bmcs))
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        fleet = Fleet(Path(folder), manner)
        await fleet.start(port)
        try:
            for identity, tree in bmcs:
                fleet.add(identity, tree, groups)
            gc.freeze()  # thousands of BMCs that stay: not looked at again by each collection
            yield fleet
        finally:
            gc.unfreeze()
            await fleet.stop()


@contextlib.contextmanager
def fleet_in_thread(
    bmcs: Sequence[tuple[Identity, Tree]],
    *,
    port: int = 0,
    manner: Manner = Manner(),
    groups: Sequence[FaultGroup] = (),
) -> Iterator[Fleet]:
    """Like :func:`running_fleet`, in a thread with its own event loop, for blocking clients."""
    context = running_fleet(bmcs, port=port, manner=manner, groups=groups)
    with in_thread(context, "fleet", _START_TIMEOUT_S) as fleet:
        yield fleet
