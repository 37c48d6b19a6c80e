"""What a site knows before a sweep: where BMCs should be, their pins and logins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from metalwright.errors import SecretError
from metalwright.journal.bmcs import LoginLatch
from metalwright.journal.journal import Journal
from metalwright.model.base import uuid_forms
from metalwright.model.repository import SiteRepository
from metalwright.redfish.discovery.sighting import RootFacts
from metalwright.redfish.discovery.targets import Target
from metalwright.redfish.discovery.visit import Expected
from metalwright.redfish.logins import Login, as_logins, login_of_environment
from metalwright.redfish.pins import site_pins
from metalwright.redfish.places import Place, places_of
from metalwright.secrets.bmc_credentials import BmcCredentials
from metalwright.secrets.opening import keys_of
from metalwright.secrets.sticker_file import unit_keys

_BMC_NAME = re.compile(r"^(?:ilo|idrac-?|xcc-(?:[0-9a-z]{4}-)?|bmc-?|ipmi-?)([0-9a-z]{5,})$", re.IGNORECASE)


class SiteKnowledge:
    """The inventory, the journal and the secret store of one site, as a sweep asks them.

    ``unread`` are factory passwords that cannot be read: their logins are left out where stickers may do instead.

    Raises:
        SecretError: a factory password cannot be read, and no sticker is known; told before anything is sent.
    """

    def __init__(self, repository: SiteRepository, journal: Journal, credentials: BmcCredentials) -> None:
        self._pins = site_pins(repository, journal.pins)
        self._credentials = credentials
        self._latch = LoginLatch.of(journal.refused_logins, credentials)
        self._site_login = login_of_environment()
        self.unread: list[SecretError] = []
        is_needed = credentials.stickers.is_empty
        self._factory: dict[str | None, tuple[Login, ...]] = {
            None: as_logins(credentials.factory(unread=None if is_needed else self.unread))
        }
        self._nodes: dict[Place, str] = {}
        self._units = {node.name: keys_of(node) for node in repository.racked()}
        self._node_of_uuid = {
            form: node.name for node in repository.racked() if node.uuid is not None for form in uuid_forms(node.uuid)
        }
        for node in repository.racked():
            for place in reversed(places_of(repository, journal.bmc_addresses, node)):
                self._nodes[place] = node.name

    @property
    def latch(self) -> LoginLatch:
        """The memory of refused logins, kept in the journal."""
        return self._latch

    def expected_at(self, target: Target) -> Expected | None:
        """The node whose BMC should be at the target; its logins only if its certificate is pinned."""
        name = self._nodes.get(target.place)
        if name is None:
            return None
        pin = self._pins.get(name)
        own = as_logins(self._credentials.own(name)) if pin is not None else ()
        return Expected(name, pin, own, frozenset(self._pins.announced(name)))

    def factory_logins(self, vendor: str | None) -> Sequence[Login]:
        """The site's factory logins for a maker."""
        if vendor not in self._factory:
            self._factory[vendor] = as_logins(self._credentials.factory(vendor, unread=[]))
        return self._factory[vendor]

    def unit_logins(self, target: Target, root: RootFacts) -> Sequence[Login]:
        """The sticker's login of the unit at the target.

        What names the unit: the MAC and the host name that DHCP knows (iLO and iDRAC announce their serial in it), the
        node that should be at this place, and the node whose UUID the service root shows.
        """
        keys = [*unit_keys((), filter(None, [target.mac])), *unit_keys(_serials_in(target.hostname), ())]
        nodes = [self._nodes.get(target.place), self._node_of_uuid.get(root.uuid or "")]
        keys += [key for node in nodes if node is not None for key in self._units[node]]
        return as_logins(self._credentials.of_unit(keys), origin="sticker")

    def site_login(self) -> Login | None:
        """The login of the environment."""
        return self._site_login


def _serials_in(hostname: str | None) -> tuple[str, ...]:
    """The serial that a BMC puts into its host name: ``ILOCZ12345678``, ``idrac-ABC1234``."""
    found = _BMC_NAME.match((hostname or "").partition(".")[0])
    return (found[1],) if found is not None else ()
