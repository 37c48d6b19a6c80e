"""Reading the BMC of a node: where it is, which certificate it must show, which logins may be sent to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from metalwright.errors import BmcUnreachableError, IdentityError
from metalwright.journal.bmcs import LoginLatch
from metalwright.journal.journal import Journal
from metalwright.matching import identity_matches
from metalwright.model.rack import Node
from metalwright.model.report import HardwareReport
from metalwright.model.repository import SiteRepository
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.client import Contact
from metalwright.redfish.inventory import ALL_PARTS, Part, read_reports
from metalwright.redfish.links import Declared
from metalwright.redfish.logins import Login, as_logins, logged_in, login_of_environment
from metalwright.redfish.pins import HeldBackPins, PinStore, site_pins
from metalwright.redfish.places import Place, known_places_of
from metalwright.redfish.restarting import read_settled, restart_bmc
from metalwright.redfish.state import limits_of
from metalwright.secrets.bmc_credentials import BmcCredentials


class OpenSite(Protocol):
    """A site with its state, as a workspace is."""

    @property
    def repository(self) -> SiteRepository:
        """What people wrote."""
        ...

    @property
    def journal(self) -> Journal:
        """What is remembered."""
        ...

    @property
    def bmc_credentials(self) -> BmcCredentials:
        """The BMC logins."""
        ...


@dataclass(frozen=True)
class BmcSession:
    """An open client, the login that opened it, and where. ``is_first_use``: no certificate is pinned yet."""

    client: AsyncClient
    login: Login | None
    place: Place
    is_first_use: bool


@dataclass
class NodeBmcs:
    """Access to the BMCs of the nodes of a site. ``notes`` collects what a person should be told (first-use pins)."""

    site: OpenSite
    notes: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def opened(
        self, node: Node, places: Sequence[Place] | None = None, *, may_use_environment: bool = True
    ) -> AsyncIterator[BmcSession]:
        """Log in at the first of ``places`` (default: all where it may be) that answers, with the first good login.

        A first-use certificate is not pinned yet: identity comes first.

        Raises:
            AddressError: nobody knows where the BMC is.
            RedfishError: it cannot be reached, shows another certificate than the pinned one, refuses every login.
        """
        repository, journal = self.site.repository, self.site.journal
        pins = HeldBackPins(site_pins(repository, journal.pins))
        is_first_use = pins.get(node.name) is None
        logins = self._logins(node, may_use_environment=may_use_environment and not is_first_use)
        silent: BmcUnreachableError | None = None
        for place in known_places_of(repository, journal.bmc_addresses, node) if places is None else places:
            async with AsyncExitStack() as stack:
                try:
                    opening = logged_in(self._contact(node, place, pins), logins)
                    client, login = await stack.enter_async_context(opening)
                except BmcUnreachableError as error:
                    silent = silent or error
                    continue
                yield BmcSession(client, login, place, is_first_use)
                return
        raise silent or BmcUnreachableError(
            "this BMC has no address",
            where=node.name,
            hint="give the node bmc_address in its rack file, or run `metalwright discover`",
        )

    def _contact(self, node: Node, place: Place, pins: PinStore) -> Contact:
        return Contact(
            place.url,
            key=node.name,
            pins=pins,
            latch=LoginLatch.of(self.site.journal.refused_logins, self.site.bmc_credentials),
            limits=limits_of(self.site.repository.site.redfish),
            declared=Declared(serial=node.serial, uuid=node.uuid),
            forms=self.site.journal.platform_forms,
        )

    def _logins(self, node: Node, *, may_use_environment: bool) -> tuple[Login, ...]:
        """The node's own and the factory's; the environment's opens other machines too and needs a pin."""
        environment = login_of_environment() if may_use_environment else None
        candidates = as_logins(self.site.bmc_credentials.candidates(node.name))
        return (*([environment] if environment is not None else []), *candidates)

    async def read(self, node: Node, parts: Collection[Part] = ALL_PARTS) -> HardwareReport:
        """The report of the host that is this node. If its identity agrees, a first-use certificate is pinned.

        Raises:
            IdentityError: the BMC has no host, or several and none of them is alone in agreeing.
            AddressError, RedfishError: as :meth:`opened`.
        """
        async with self.opened(node) as session:
            reports = await read_reports(session.client, address=session.place.host, parts=parts)
        report = report_of(node, reports)
        if not identity_failures(node, report):
            self.pin_first_use(node, session)
        return report

    async def read_after_restart(self, node: Node, parts: Collection[Part] = ALL_PARTS) -> HardwareReport:
        """Restart the node's BMC, once, and read it when it has settled. Hold the node while you do.

        Raises:
            IdentityError: another machine answers; its BMC is left alone.
            UsageError, RedfishError: as :meth:`opened`.
        """
        async with self.opened(node) as session:
            report = report_of(node, await read_reports(session.client, address=session.place.host, parts=()))
            failures = identity_failures(node, report)
            if failures:
                what = "another machine answers at this address; its BMC is not restarted"
                raise IdentityError(what, where=node.name, found="; ".join(failures))
            await restart_bmc(session.client)
        return await read_settled(lambda: self.read(node, parts))

    def pin_first_use(self, node: Node, session: BmcSession) -> None:
        """Pin the certificate of a machine whose identity has just agreed; nothing happens when one is pinned."""
        pins, fingerprint = self.site.journal.pins, session.client.fingerprint
        if fingerprint is not None and pins.get(node.name) is None:
            pins.record(node.name, fingerprint)
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
