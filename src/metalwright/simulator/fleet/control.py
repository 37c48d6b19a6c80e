"""The control port: watch the BMCs of a fleet and mislead them. Plain HTTP on loopback, for tests.

GET    /counters                     the whole fleet: bmcs, requests, logins, open_sessions, resident_kib
GET    /bmcs                         one line each: address, kind, serial, power, requests, logins, open_sessions
GET    /bmcs/ADDRESS                 state: power, BIOS, override, media, firmware, tasks, changes, faults
GET    /bmcs/ADDRESS/log             the BMC's own events
GET    /bmcs/ADDRESS/requests        the last requests, secrets masked
GET    /bmcs/ADDRESS/counters        requests by "METHOD path", logins, open sessions, most in flight
GET    /bmcs/ADDRESS/truth           what the profile says is in the machine
POST   /bmcs/ADDRESS/faults          put one fault in force (ADDRESS may be "all"); "warnings": it can never bite
GET    /bmcs/ADDRESS/faults          those in force
DELETE /bmcs/ADDRESS/faults          behave again
DELETE /bmcs/ADDRESS/requests        forget the records and counters
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from metalwright.errors import LabError
from metalwright.simulator.faults import Fault
from metalwright.simulator.fleet.aiming import misaimed
from metalwright.simulator.fleet.bmc import TreeBmc
from metalwright.simulator.fleet.service import Fleet
from metalwright.simulator.fleet.truth import fill_truth
from metalwright.simulator.service.traffic import Traffic


class Control:
    """The handlers; ``fleet`` is looked at and changed in its own event loop."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> int:
        """Listen; the port. Raises :class:`LabError` when it is taken."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/counters", self._totals),
                web.get("/bmcs", self._list),
                web.get("/bmcs/{address}", self._state),
                web.get("/bmcs/{address}/log", self._log),
                web.get("/bmcs/{address}/requests", self._requests),
                web.delete("/bmcs/{address}/requests", self._forget),
                web.get("/bmcs/{address}/counters", self._counters),
                web.get("/bmcs/{address}/truth", self._truth),
                web.get("/bmcs/{address}/faults", self._faults),
                web.post("/bmcs/{address}/faults", self._set_fault),
                web.delete("/bmcs/{address}/faults", self._clear_faults),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, address, port).start()
        except OSError as error:
            raise LabError("the control port is taken", where=f"{address}:{port}", found=str(error)) from error
        taken: int = self._runner.addresses[0][1]
        return taken

    async def stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()

    async def _totals(self, _request: web.Request) -> web.Response:
        bmcs = self.fleet.bmcs.values()
        return web.json_response(
            {
                "bmcs": len(bmcs),
                "requests": sum(bmc.traffic.total for bmc in bmcs),
                "logins": sum(bmc.traffic.logins for bmc in bmcs),
                "open_sessions": sum(bmc.gate.open_sessions for bmc in bmcs),
                "resident_kib": resident_kib(),
            }
        )

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response([_line(address, bmc) for address, bmc in self.fleet.bmcs.items()])

    async def _state(self, request: web.Request) -> web.Response:
        address, bmc = self._one(request)
        state = bmc.state.model_dump(mode="json", exclude={"accounts"})
        accounts = [{"id": account.id, "user": account.user, "role": account.role} for account in bmc.state.accounts]
        tasks = [asdict(task) for task in bmc.tasks.values()]
        extra = {"accounts": accounts, "tasks": tasks, "changes": bmc.changes, "faults": _faults_of(bmc)}
        return web.json_response({**_line(address, bmc), **state, **extra})

    async def _log(self, request: web.Request) -> web.Response:
        _, bmc = self._one(request)
        return web.json_response([{**asdict(event), "message": event.message} for event in bmc.system.log.entries])

    async def _requests(self, request: web.Request) -> web.Response:
        _, bmc = self._one(request)
        return web.json_response([record.as_json() for record in bmc.traffic.records])

    async def _forget(self, request: web.Request) -> web.Response:
        for bmc in self._many(request):
            bmc.traffic = Traffic(self.fleet.manner.keep)
        return web.json_response({})

    async def _counters(self, request: web.Request) -> web.Response:
        total: Counter[tuple[str, str]] = Counter()
        bmcs = self._many(request)
        for bmc in bmcs:
            total.update(bmc.traffic.counts)
        return web.json_response(
            {
                "requests": sum(bmc.traffic.total for bmc in bmcs),
                "logins": sum(bmc.traffic.logins for bmc in bmcs),
                "open_sessions": sum(bmc.gate.open_sessions for bmc in bmcs),
                "most_in_flight": max(bmc.traffic.most_in_flight for bmc in bmcs),
                "paths": {f"{method} {path}": count for (method, path), count in sorted(total.items())},
            }
        )

    async def _truth(self, request: web.Request) -> web.Response:
        _, bmc = self._one(request)
        return web.json_response(fill_truth(bmc.tree_routes.tree, bmc.identity))

    async def _faults(self, request: web.Request) -> web.Response:
        return web.json_response(_faults_of(self._one(request)[1]))

    async def _set_fault(self, request: web.Request) -> web.Response:
        bmcs = self._many(request)
        try:
            fault = Fault.model_validate(await request.json())
            why = misaimed(fault, {id(bmc.tree_routes): bmc.tree_routes for bmc in bmcs}.values(), _in_force(bmcs))
            for bmc in bmcs:
                self.fleet.set_fault(bmc, fault)
        except (ValidationError, LabError, ValueError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({"warnings": [why]} if why is not None else {})

    async def _clear_faults(self, request: web.Request) -> web.Response:
        for bmc in self._many(request):
            bmc.system.faults.clear()
        return web.json_response({})

    def _one(self, request: web.Request) -> tuple[str, TreeBmc]:
        address = request.match_info["address"]
        bmc = self.fleet.bmcs.get(address)
        if bmc is None:
            text = json.dumps({"error": f"no BMC at {address}"})
            raise web.HTTPNotFound(text=text, content_type="application/json")
        return address, bmc

    def _many(self, request: web.Request) -> list[TreeBmc]:
        if request.match_info["address"] == "all":
            return list(self.fleet.bmcs.values())
        return [self._one(request)[1]]


def _line(address: str, bmc: TreeBmc) -> dict[str, Any]:
    return {
        "address": address,
        "kind": bmc.tree_routes.tree.name,
        "serial": bmc.spec.serial,
        "power": bmc.system.power_state,
        "requests": bmc.traffic.total,
        "logins": bmc.traffic.logins,
        "open_sessions": bmc.gate.open_sessions,
    }


def _in_force(bmcs: Sequence[TreeBmc]) -> list[Fault]:
    return [fault for bmc in bmcs for fault in bmc.system.faults.active()]


def _faults_of(bmc: TreeBmc) -> list[dict[str, Any]]:
    return [fault.model_dump(mode="json", exclude_defaults=True) for fault in bmc.system.faults.active()]


def resident_kib() -> int:
    """Resident memory of this process in KiB (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
