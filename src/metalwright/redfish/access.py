"""Reading the BMC of a node: where it is, which certificate it must show, which logins may be sent to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from metalwright.errors import IdentityError
from metalwright.journal.bmcs import LoginLatch
from metalwright.journal.journal import Journal
from metalwright.matching import identity_matches
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport
from metalwright.model.repository import SiteRepository
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.client import Contact
from metalwright.redfish.inventory import ALL_PARTS, Part, read_reports
from metalwright.redfish.logins import Login, as_logins, logged_in, login_of_environment
from metalwright.redfish.pins import MemoryPins, site_pins
from metalwright.redfish.places import known_places_of
from metalwright.redfish.restarting import read_settled, restart_bmc
from metalwright.redfish.state import limits_of
from metalwright.secrets.bmc_credentials import BmcCredentials


@dataclass
class NodeBmcs:
    """Access to the BMCs of the nodes of a site. ``notes`` collects what a person should be told (first-use pins)."""

    repository: SiteRepository
    journal: Journal
    credentials: BmcCredentials
    notes: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self, node: Node) -> AsyncIterator[AsyncClient]:
        """A client of the node's BMC, logged in. A first-use certificate is not pinned yet: identity comes first.

        Raises:
            AddressError: nobody knows where the BMC is.
            RedfishError: it cannot be reached, shows another certificate than the pinned one, refuses every login.
        """
        pinned = site_pins(self.repository, self.journal.pins).get(node.name)
        contact = Contact(
            known_places_of(self.repository, self.journal.bmc_addresses, node)[0].url,
            key=node.name,
            pins=MemoryPins({node.name: pinned} if pinned is not None else {}),
            latch=LoginLatch.of(self.journal.refused_logins, self.credentials),
            limits=limits_of(self.repository.site.redfish),
        )
        async with logged_in(contact, self._logins(node, is_pinned=pinned is not None)) as (client, _):
            yield client

    def _logins(self, node: Node, *, is_pinned: bool) -> tuple[Login, ...]:
        """The node's own and the factory's; the environment's opens other machines too and needs a pin."""
        environment = login_of_environment() if is_pinned else None
        return (*([environment] if environment is not None else []), *as_logins(self.credentials.candidates(node.name)))

    async def read(self, node: Node, parts: Collection[Part] = ALL_PARTS) -> HardwareReport:
        """The report of the host that is this node. If its identity agrees, a first-use certificate is pinned.

        Raises:
            IdentityError: the BMC has no host, or several and none of them is alone in agreeing.
            AddressError, RedfishError: as :meth:`opened`.
        """
        async with self.opened(node) as client:
            reports = await read_reports(client, address=client.contact.origin.host, parts=parts)
            fingerprint = client.fingerprint
        report = report_of(node, reports)
        if fingerprint is not None and not identity_failures(node, report):
            self._pin(node, fingerprint)
        return report

    async def read_after_restart(self, node: Node, parts: Collection[Part] = ALL_PARTS) -> HardwareReport:
        """Restart the node's BMC, once, and read it when it has settled. Hold the node while you do.

        Raises:
            IdentityError: another machine answers; its BMC is left alone.
            UsageError, RedfishError: as :meth:`opened`.
        """
        async with self.opened(node) as client:
            report = report_of(node, await read_reports(client, address=client.contact.origin.host, parts=()))
            failures = identity_failures(node, report)
            if failures:
                what = "another machine answers at this address; its BMC is not restarted"
                raise IdentityError(what, where=node.name, found="; ".join(failures))
            await restart_bmc(client)
        return await read_settled(lambda: self.read(node, parts))

    def _pin(self, node: Node, fingerprint: str) -> None:
        if self.journal.pins.get(node.name) is None:
            self.journal.pins.record(node.name, fingerprint)
            self.notes.append(f"{node.name}: certificate sha256:{fingerprint} pinned at first use")


def identity_failures(node: Node, report: HardwareReport) -> list[str]:
    """The identity keys that contradict, in words."""
    failures = [item for item in identity_matches(node, report) if item.verdict == "FAIL"]
    return [f"{item.slot} {item.expected}, found {item.found}" for item in failures]


def report_of(node: Node, reports: Collection[HardwareReport]) -> HardwareReport:
    """The one report that is about the node; of a BMC with a single host that one, whatever its identity.

    Raises:
        IdentityError: no host, or several of which not exactly one agrees.
    """
    if len(reports) == 1:
        return next(iter(reports))
    fitting = [report for report in reports if not identity_failures(node, report)]
    if len(fitting) != 1:
        raise IdentityError(
            "the BMC does not show exactly one host that is this node",
            where=node.name,
            expected="one host whose identity keys agree",
            found=f"{len(fitting)} of {len(reports)} hosts",
            hint="name further identity keys in the rack file",
        )
    return fitting[0]
