"""One BMC: everything that a resource may touch."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from metalwright.simulator.service.answers import Json
from metalwright.simulator.service.deeds import TagCounters
from metalwright.simulator.service.pace import Pace
from metalwright.simulator.service.routes import Route
from metalwright.simulator.service.sessions import Gate, make_account
from metalwright.simulator.service.traffic import Traffic
from metalwright.simulator.state import MachineState, StaticAddress
from metalwright.simulator.system import SimulatedSystem

ROOT = "/redfish/v1"
SYSTEM = f"{ROOT}/Systems/1"
CHASSIS = f"{ROOT}/Chassis/1"
MANAGER = f"{ROOT}/Managers/1"


class Routes(Protocol):
    """Finds the resource of a path."""

    def find(self, path: str) -> tuple[Route, dict[str, str]]:
        """The route and its parameters; raises :class:`~metalwright.simulator.service.answers.Refusal` (404)."""


class Mover(Protocol):
    """Whatever holds the listener."""

    async def move(self, address: str) -> None:
        """Listen on ``address`` now, leave the old one soon after; raises :class:`OSError`."""

    async def renew_certificate(self) -> None:
        """Go on with a new key and certificate."""

    async def install_certificate(self, pem: bytes) -> None:
        """Go on with this key and certificate."""

    def certificate(self) -> bytes:
        """What is served now; PEM."""


@dataclass
class TaskRecord:
    """One task of the task service."""

    id: str
    name: str
    started: str
    state: str = "Running"
    status: str = "OK"
    percent: int = 0
    ended: str | None = None
    messages: list[Json] = field(default_factory=list)
    result: Json | None = None
    """The answer of the request that the task carries out, as its monitor gives it."""


class Bmc:
    """The state behind one Redfish service; ``clock`` gives seconds since 1970 and may be a fake one.

    ``routes`` finds the resource of a path; ``traffic`` is what the BMC saw; ``pace`` is how fast it is;
    ``update_s`` is how long a firmware update takes.
    """

    def __init__(self, system: SimulatedSystem, routes: Routes, clock: Callable[[], float] = time.time) -> None:
        self.system = system
        self.spec = system.spec
        self.clock = clock
        self.gate = Gate(system, clock)
        self.tasks: dict[str, TaskRecord] = {}
        self.mover: Mover | None = None
        self.port = self.spec.bmc.port
        self.boot_id = secrets.token_hex(8)
        self.routes = routes
        self.traffic = Traffic()
        self.tags = TagCounters()
        self.pace = Pace()
        self.expands = False
        self.background: set[asyncio.Task[None]] = set()
        self.update_s = 1.0
        self.task_prefix = ""
        self.waiting_key = b""
        if not system.state.accounts:
            self._make_factory_account()

    @property
    def state(self) -> MachineState:
        """What the machine remembers."""
        return self.system.state

    @property
    def address(self) -> str:
        """The address that the BMC has now."""
        manager = self.state.manager
        if not manager.dhcp and manager.static:
            return manager.static[0].address
        return self.spec.bmc.address

    def addresses(self) -> list[Json]:
        """The ``IPv4Addresses`` in force."""
        manager = self.state.manager
        is_static = not manager.dhcp and bool(manager.static)
        entry = manager.static[0] if is_static else StaticAddress(address=self.spec.bmc.address)
        return [
            {
                "Address": entry.address,
                "SubnetMask": entry.netmask,
                "Gateway": entry.gateway,
                "AddressOrigin": "Static" if is_static else "DHCP",
            }
        ]

    def _make_factory_account(self) -> None:
        factory = self.spec.bmc
        account = make_account("2" if factory.account_slots else "1", factory.user, factory.password.get_secret_value())
        account.must_change = factory.must_change_password
        self.state.accounts.append(account)
        self.system.save()
