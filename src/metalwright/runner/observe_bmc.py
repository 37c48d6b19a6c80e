"""What the phases see through the BMC. Reads only; every observation opens its own session and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from metalwright.errors import BmcUnreachableError, IdentityError
from metalwright.lifecycle.boot_method import barred_methods, choose_boot_method
from metalwright.lifecycle.observations import (
    AddressObservation,
    CredentialsObservation,
    FirmwareObservation,
    HostView,
    IdentifyObservation,
    MatchObservation,
)
from metalwright.matching import choose_system_disk, identity_matches, match
from metalwright.model.boot import BootCapabilities, BootChoice
from metalwright.model.report import HardwareReport
from metalwright.redfish.access import NodeBmcs
from metalwright.redfish.inventory import read_reports
from metalwright.redfish.places import Place
from metalwright.runner.bmc_session import open_bmc
from metalwright.runner.boot_lessons import read_capabilities
from metalwright.runner.observe_firmware import observe_firmware
from metalwright.workspace import Workspace


@dataclass
class BmcObserver:
    """Observes one node. The hardware report of *identify* serves *match* and *firmware* of the same invocation."""

    workspace: Workspace
    node: str
    _report: HardwareReport | None = field(default=None, init=False)

    def identify(self) -> IdentifyObservation:
        """Read the machine and compare its identity keys."""
        return asyncio.run(self._identify())

    def credentials(self) -> CredentialsObservation:
        """Try our own login, when there is one."""
        return asyncio.run(self._credentials())

    def match(self) -> MatchObservation:
        """Compare the hardware with the blueprint."""
        declared = self.workspace.repository.node(self.node)
        return MatchObservation(match(self.workspace.blueprint(self.node), self.report(), declared))

    def address(self) -> AddressObservation:
        """See where the BMC answers; remembers it in the journal."""
        return asyncio.run(self._address())

    def firmware(self) -> FirmwareObservation:
        """Compare firmware versions with the blueprint's constraints; see what is under way."""
        if not self.workspace.blueprint(self.node).firmware:
            return FirmwareObservation(())
        return asyncio.run(observe_firmware(self.workspace, self.node))

    def host(self) -> HostView:
        """Power, virtual media and boot."""
        return asyncio.run(self._host())

    def report(self) -> HardwareReport:
        """The hardware report of this invocation."""
        if self._report is None:
            self.identify()
        if self._report is None:
            raise IdentityError("the machine could not be read", where=self.node)
        return self._report

    @property
    def seen_report(self) -> HardwareReport | None:
        """The report that this invocation has read already; nothing is read for it."""
        return self._report

    def system_disk_serial(self) -> str | None:
        """Serial of the disk that the rule names, when the BMC lists drives and exactly one fits."""
        workspace = self.workspace
        return choose_system_disk(workspace.blueprint(self.node), workspace.repository.node(self.node), self.report())

    async def _identify(self) -> IdentifyObservation:
        async with open_bmc(self.workspace, self.node) as session:
            reports = await read_reports(session.client, session.place.host)
        declared = self.workspace.repository.node(self.node)
        candidates = [(report, identity_matches(declared, report)) for report in reports]
        if not candidates:
            raise IdentityError(
                "the BMC manages no host system",
                where=f"{self.node} {session.place.url}",
                hint="this is the BMC of a DPU, a switch or a power shelf; correct the rack file",
            )
        report, findings = min(candidates, key=lambda pair: sum(item.verdict == "FAIL" for item in pair[1]))
        self._report = report
        if not any(item.verdict == "FAIL" for item in findings):
            NodeBmcs(self.workspace).pin_first_use(declared, session)
        macs = report.bmc.macs or ()
        serials = {"serial": report.system.serial, "uuid": report.system.uuid, "bmc_mac": next(iter(macs), None)}
        return IdentifyObservation(tuple(findings), "first-use" if session.is_first_use else "pinned", serials)

    async def _credentials(self) -> CredentialsObservation:
        credentials = self.workspace.bmc_credentials
        user = self.workspace.repository.site.bmc_user
        current = credentials.current(self.node)
        is_staged = any(item.origin == "staged" for item in credentials.candidates(self.node))
        if current is None and not is_staged:
            return CredentialsObservation(user, own_login_works=False)
        async with open_bmc(self.workspace, self.node) as session:
            origin = session.login.origin if session.login is not None else "none"
        is_own_account = current is None or current.user == user or current.is_shared
        return CredentialsObservation(user, origin in ("current", "staged"), is_staged, is_own_account)

    async def _address(self) -> AddressObservation:
        wanted = self.workspace.allocated_bmc(self.node)
        is_there = await self._answers_at(wanted)
        if is_there:
            self.workspace.journal.bmc_addresses.record(self.node, wanted.host, wanted.port, datetime.now(UTC))
        return AddressObservation(wanted.host, wanted.host if is_there else self._answered_at(), is_there)

    def _answered_at(self) -> str:
        """The address at which *identify* read the machine; before that, the best that is known."""
        read = self._report.bmc.address if self._report is not None else None
        return read or self.workspace.bmc_places(self.node)[0].host

    async def _answers_at(self, place: Place) -> bool:
        """Whether the node's own BMC answers there: certificate pinned, login works, identity agrees."""
        try:
            async with open_bmc(self.workspace, self.node, [place]) as session:
                reports = await read_reports(session.client, place.host, parts=())
        except BmcUnreachableError:
            return False
        declared = self.workspace.repository.node(self.node)
        if not any(all(item.verdict != "FAIL" for item in identity_matches(declared, report)) for report in reports):
            raise IdentityError(
                "another machine answers at the allocated BMC address",
                where=f"{self.node} {place.url}",
                expected=f"serial {declared.serial}, UUID {declared.uuid}",
                found="; ".join(f"serial {item.system.serial}, UUID {item.system.uuid}" for item in reports),
                hint="two BMCs share an address, or two nodes are swapped in the rack file",
            )
        return True

    async def _host(self) -> HostView:
        async with open_bmc(self.workspace, self.node) as session:
            system = await session.client.find("@system")
            slots = (await session.client.find("@media/*"))["Members"]
            offered = await read_capabilities(session.client, system, slots)
        power, boot, progress = (system.get(name) for name in ("PowerState", "Boot", "BootProgress"))
        enabled = boot.get("BootSourceOverrideEnabled") if isinstance(boot, Mapping) else None
        return HostView(
            power=power if isinstance(power, str) else None,
            is_medium_inserted=any(_is_inserted(slot) for slot in slots),
            boot_progress=progress.get("LastState") if isinstance(progress, Mapping) else None,
            is_override_set=None if enabled is None else enabled != "Disabled",
            boot=self._boot_choice(offered),
        )

    def _boot_choice(self, offered: BootCapabilities) -> BootChoice:
        repository = self.workspace.repository
        declared = self.workspace.blueprint(self.node).boot.method
        return choose_boot_method(declared, offered, barred_methods(repository.site, repository.node(self.node)))


def _is_inserted(slot: Mapping[str, Any]) -> bool:
    return bool(slot.get("Inserted")) or slot.get("Image") not in (None, "", "None")
