"""What a connection is given: where the BMC is, its pin, its credentials, and the guard of its writes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from metalwright.connectors.bmcs import default_users, racked_as, repository_at, site_dir
from metalwright.connectors.certificates import CertificateDesk
from metalwright.connectors.commands import Command
from metalwright.connectors.evidence import Keep
from metalwright.connectors.execution import DeskVerb, OrderMedium
from metalwright.connectors.firmware import FirmwareDesk
from metalwright.connectors.guard import AdHocGuard, Guard, Lock, NodeGuard
from metalwright.connectors.secrets import BmcSecrets, EnvironmentSecrets, StoredSecrets
from metalwright.errors import GrantError, UsageError
from metalwright.imaging.ordering import order_deployment
from metalwright.journal.bmcs import LoginLatch as JournalLatch
from metalwright.journal.evidence import evidence_dir, write_evidence
from metalwright.journal.locks import NodeLock
from metalwright.lifecycle.boot_method import barred_methods, choose_boot_method
from metalwright.model.boot import BootCapabilities, BootChoice, BootMethod
from metalwright.model.deployment import Deployment
from metalwright.model.grant import Grant
from metalwright.model.rack import Node
from metalwright.redfish import Limits, LoginLatch, MemoryLatch, MemoryPins, PinStore
from metalwright.redfish.adaptations import ForgetfulMemory, FormMemory
from metalwright.redfish.blocking_client import BlockingClient
from metalwright.redfish.links import Declared, Topology
from metalwright.redfish.pins import pins_of_environment, site_pins
from metalwright.redfish.state import limits_of
from metalwright.workspace import RUN_VARIABLE, Workspace, workspace_at

HTTP_VARIABLE = "METALWRIGHT_ALLOW_HTTP"


def no_medium(method: BootMethod) -> str:
    """Refuse: only a node of the inventory has a boot medium."""
    del method
    raise GrantError("this BMC belongs to no node of an inventory, so there is no medium for it")


def no_firmware(client: BlockingClient, topology: Topology, command: Command) -> list[str]:
    """Tell that nothing is known; the catalogue of images is a site's, and what is under way is in its journal."""
    del client, topology
    if command.target == "state":
        return ['{"updates": []}']
    raise UsageError("firmware is updated on nodes of an inventory only", where="@redfish")


def no_certificates(client: BlockingClient, topology: Topology, command: Command) -> list[str]:
    """Refuse: who signs is said by a site."""
    del client, topology, command
    raise UsageError("certificates are replaced on nodes of an inventory only", where="@redfish")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Everything that a connection to one BMC needs. ``addresses`` are tried in order until one answers."""

    key: str
    addresses: tuple[str, ...]
    secrets: BmcSecrets
    guard: Guard
    pins: PinStore = field(default_factory=MemoryPins)
    latch: LoginLatch = field(default_factory=MemoryLatch)
    limits: Limits = field(default_factory=Limits)
    declared: Declared = field(default_factory=Declared)
    allow_http: bool = False
    forms: FormMemory = field(default_factory=ForgetfulMemory)
    default_users: tuple[str, ...] = ()
    """Accounts that machines leave the factory with."""
    keep_evidence: Keep | None = None
    """Keeps what is read before a disruptive command; None: nothing is read."""
    firmware: DeskVerb = no_firmware
    """Carries out FIRMWARE commands."""
    certificates: DeskVerb = no_certificates
    """Carries out CERTIFICATE commands."""
    order_medium: OrderMedium = no_medium
    """Makes the node's boot medium and returns its unguessable URL; raises a MetalwrightError."""


@dataclass(frozen=True, slots=True)
class SiteServices:
    """What this process may do to the nodes of its site: locks, grants, boot media."""

    workspace: Workspace

    @property
    def run(self) -> str | None:
        """The run that this process works for, when metalwright started it."""
        return os.environ.get(RUN_VARIABLE) or None

    def lock(self, node: str) -> Lock:
        """Take the node's lock, or the one inherited from the parent. Raises LockHeldError."""
        return NodeLock(self.workspace.paths.state, node).acquire(self.run)

    def deployment(self, node: str) -> Deployment | None:
        """Return the newest deployment of a node that is not final, or None."""
        found = self.workspace.journal.deployments.newest_of_node(node, datetime.now(UTC))
        return None if found is None or found.state.is_final else found

    def grant(self, node: str) -> Grant | None:
        """Return the grant that now allows to write the pinned image to the node, for this process's run."""
        sha256 = self.workspace.blueprint(node).image.file_sha256
        return self.workspace.journal.grants.find_valid(node, sha256, datetime.now(UTC), run=self.run)

    def boot_choice(self, node: str, declared: Sequence[BootMethod], offered: BootCapabilities) -> BootChoice:
        """Return how the node's ramdisk is started, of the ``declared`` ways, at a BMC that offers this."""
        repository = self.workspace.repository
        return choose_boot_method(declared, offered, barred_methods(repository.site, repository.node(node)))

    def keep_evidence(self, node: str, evidence: Mapping[str, Any], before: str) -> None:
        """Keep what was read before a disruptive request in ``.metalwright/evidence/RUN``; the journal names it."""
        run = self.run
        directory, content = evidence_dir(self.workspace.paths.state, run), {"before": before, **evidence}
        path = write_evidence(directory, node, node, datetime.now(UTC), content)
        where = str(path.relative_to(self.workspace.paths.root))
        self.workspace.journal.events.note(
            "evidence kept", node=node, run=run, why=where, detail={"file": where, "before": before}
        )

    def order_medium(self, node: str, method: BootMethod) -> str:
        """Make the node's boot medium and return its URL; the node's lock is held. The journal notes the ``method``.

        Without a run of metalwright behind it (plain pyinfra) this starts one, and the lease stays: the ramdisk asks
        for *go* long after this process has ended. Raises GrantError, ImageError or JournalError.
        """
        run, journal = self.run, self.workspace.journal
        if run is None:
            run = journal.runs.start("pyinfra", sys.argv[1:]).id
            journal.leases.take(node, run)
        journal.events.note("boot medium ordered", node=node, run=run, detail={"method": method})
        return order_deployment(self.workspace, node, run, method=method).media_url


@lru_cache(maxsize=4)
def services_at(directory: Path) -> SiteServices:
    """Open journal and secrets of the site in ``directory``. Raises LoadingError, JournalError or SecretError."""
    return SiteServices(workspace_at(directory, repository_at(directory)))


def ad_hoc_endpoint(address: str) -> Endpoint:
    """Return the endpoint of a BMC that is given by its address.

    Its certificate is pinned for this process only, or to ``METALWRIGHT_BMC_FINGERPRINT``.
    """
    return Endpoint(
        key=address,
        addresses=(address,),
        secrets=EnvironmentSecrets(),
        guard=AdHocGuard(),
        pins=pins_of_environment(address),
        allow_http=os.environ.get(HTTP_VARIABLE) == "1",
    )


def node_endpoint(name: str) -> Endpoint:
    """Return the endpoint of a node's BMC. Raises UsageError for an unknown node, and what opening the site raises."""
    named = racked_as(name)
    if named is None:
        raise UsageError("no such node in the inventory", where=name, hint="METALWRIGHT_SITE names the site repository")
    services = services_at(site_dir())
    node, workspace = named[1], services.workspace
    is_node = isinstance(node, Node)
    site = workspace.repository.site
    return Endpoint(
        key=node.name,
        addresses=tuple(str(place) for place in workspace.bmc_places(node.name)),
        secrets=StoredSecrets(workspace.bmc_credentials, node.name, max_length=site.bmc_password_max_length),
        guard=NodeGuard(
            node,
            lambda: services.lock(node.name),
            lambda: services.grant(node.name) if is_node else None,
            is_lockdown_declared=site.hardening.lockdown is True,
        ),
        pins=site_pins(workspace.repository, workspace.journal.pins),
        latch=JournalLatch.of(workspace.journal.refused_logins, workspace.bmc_credentials),
        limits=limits_of(site.redfish),
        declared=Declared(
            node.serial if "serial" in node.identity else None, node.uuid if "uuid" in node.identity else None
        ),
        allow_http=os.environ.get(HTTP_VARIABLE) == "1",
        default_users=default_users(site),
        forms=workspace.journal.platform_forms,
        keep_evidence=lambda evidence, before: services.keep_evidence(node.name, evidence, before),
        firmware=FirmwareDesk(workspace, node.name).run if is_node else no_firmware,
        certificates=CertificateDesk(workspace, node.name).run,
        order_medium=(lambda method: services.order_medium(node.name, method)) if is_node else no_medium,
    )
