"""A site as commands work on it: what people wrote, the journal, and the answers that need both.

Where a BMC answers now, which SSH key a node must show, which recipe applies: each has one answer, here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from metalwright import __version__
from metalwright.errors import AddressError, LoadingError, PlanError
from metalwright.journal.journal import Journal
from metalwright.journal.opening import open_journal
from metalwright.loading import SitePaths, load_site
from metalwright.loading.files import is_writable
from metalwright.model.blueprint import Blueprint
from metalwright.model.digests import recipe_digest
from metalwright.model.repository import SiteRepository
from metalwright.model.target import RebuildTarget
from metalwright.planning import Desired, network_inputs, place_inputs, shared_inputs
from metalwright.redfish.places import Place, known_places_of
from metalwright.secrets.bmc_credentials import BmcCredentials
from metalwright.secrets.opening import open_bmc_credentials
from metalwright.ssh import Target, target_of

RUN_VARIABLE = "METALWRIGHT_RUN"
"""Tells a child process which run it works for."""


@dataclass(frozen=True)
class Workspace:
    """Open it with :func:`open_workspace`, or with :func:`workspace_at` for the life of the process."""

    paths: SitePaths
    repository: SiteRepository
    journal: Journal
    bmc_credentials: BmcCredentials
    targets: Mapping[str, RebuildTarget] = field(default_factory=dict)
    """Nodes that this run brings to something else than git pins; ``repository`` has them applied."""

    def with_targets(self, targets: Mapping[str, RebuildTarget]) -> Workspace:
        """The same workspace in which these nodes are to become what their targets say.

        Raises:
            PlanError: the site does not have a target's blueprint.
        """
        return replace(self, repository=_brought_to(self.repository, targets), targets=targets)

    def blueprint(self, node: str) -> Blueprint:
        """The blueprint that the node is pinned to, or that this run brings it to."""
        return self.repository.blueprint_of(node)

    def recipe(self, node: str) -> str:
        """Digest of all that would be done to the node: blueprint, rendered inputs, deploy trees, tool version."""
        inputs = {
            "node": self.repository.node(node).recipe_inputs(),
            "addresses": self.repository.addresses.of_node(node),
            "place": place_inputs(self.repository.rack_of(node)),
            "networks": network_inputs(self.repository, self.repository.node(node)),
            **self._shared_inputs,
        }
        return recipe_digest(self.blueprint(node), inputs, self.repository.tree_digest, __version__)

    def require_unchanged(self, node: str) -> None:
        """Refuse to go on when the site's files now ask for something else than when this workspace was opened.

        Children read the files themselves, so that a run would apply one recipe and record another.

        Raises:
            PlanError: the recipe of the node is another one by now.
            LoadingError, InvalidFilesError: the files are wrong by now.
        """
        now = replace(self, repository=_brought_to(load_site(self.paths.root), self.targets)).recipe(node)
        if now != self.recipe(node):
            raise PlanError(
                "the site's files changed during the run",
                where=node,
                expected=f"recipe {self.recipe(node)}, as when the run began",
                found=f"recipe {now}",
                hint="what was done so far is recorded under the old recipe; look at the change with `metalwright plan "
                f"{node}`, then take the new one with `metalwright provision {node}`",
            )

    def desired(self, node: str, disk_serial: str | None) -> Desired:
        """What git wants of the node; ``disk_serial`` is the system disk chosen from the BMC's own list."""
        return Desired(
            node=self.repository.node(node),
            blueprint=self.blueprint(node),
            recipe=self.recipe(node),
            addresses=self.repository.addresses.of_node(node),
            disk_serial=disk_serial,
            place=place_inputs(self.repository.rack_of(node)),
            networks=network_inputs(self.repository, self.repository.node(node)),
            shared={**self._shared_inputs, "trees": self.repository.tree_digest, "tool": __version__},
        )

    def allocated_bmc(self, node: str) -> Place:
        """The BMC address that the lock file gives to the node.

        Raises:
            AddressError: none is allocated.
        """
        network = self.repository.network_of_purpose("oob-management")
        address = self.repository.addresses.of_node(node).get(network.name) if network else None
        if address is None:
            raise AddressError(
                "no BMC address is allocated",
                where=node,
                hint="run `metalwright addresses allocate` and commit inventory/addresses.lock",
            )
        return Place(address, self.repository.node(node).bmc_port or self.repository.site.redfish.port)

    def bmc_places(self, node: str) -> tuple[Place, ...]:
        """Where the BMC may answer, the best first: last seen, allocated, declared.

        Raises:
            AddressError: nothing is known.
        """
        return known_places_of(self.repository, self.journal.bmc_addresses, self.repository.racked_as(node))

    def ssh_target(self, node: str) -> Target:
        """Where SSH to the node goes.

        Raises:
            AddressError: the node has neither an ``ssh:`` entry nor a host-management address.
        """
        target = target_of(self.repository, self.repository.node(node))
        if target is None:
            raise AddressError(
                "no host-management address is allocated", where=node, hint="run `metalwright addresses allocate`"
            )
        return target

    def ssh_host_key(self, node: str) -> str | None:
        """The key that the node must show: of its newest deployment, else of its last known-good tuple in git."""
        current = self.journal.host_keys.current(node)
        if current is not None:
            return current.key
        known = self.repository.known_good.of_node(node)
        return known.ssh_host_key if known else None

    def known_hosts(self) -> Path:
        """The site's own known_hosts file."""
        return self.paths.known_hosts

    @cached_property
    def _shared_inputs(self) -> dict[str, object]:
        return shared_inputs(self.repository)


@contextmanager
def open_workspace(root: Path) -> Iterator[Workspace]:
    """Load the site at ``root`` and open its journal and secret store.

    Raises:
        LoadingError, InvalidFilesError: the site's files are wrong.
        JournalError, SecretError: the state cannot be used; nothing was changed.
    """
    workspace = workspace_at(root.resolve(), load_site(root.resolve()))
    with workspace.journal:
        yield workspace


def workspace_at(root: Path, repository: SiteRepository) -> Workspace:
    """Open journal and secret store of the site ``repository`` that was loaded from ``root``.

    Raises:
        JournalError, SecretError: the state cannot be used; nothing was changed.
    """
    paths = SitePaths(root)
    _require_state(repository, paths.state)
    credentials = open_bmc_credentials(repository.site, paths.state, repository.racked())
    return Workspace(paths, repository, open_journal(repository.site, paths.state), credentials)


def _require_state(repository: SiteRepository, state: Path) -> None:
    """Refuse a state that cannot be kept: which passwords a BMC refused must not be forgotten."""
    is_kept_here = repository.site.journal is None or repository.site.secrets.kind != "commands"
    if is_kept_here and not is_writable(state):
        raise LoadingError(
            "this folder is read-only, and what is learnt of BMCs must be kept: refused passwords, certificates",
            where=str(state),
            hint="`check`, `status`, `journal` and `inspect https://BMC` work in it; the others need a writable one",
        )


def _brought_to(repository: SiteRepository, targets: Mapping[str, RebuildTarget]) -> SiteRepository:
    for target in targets.values():
        repository = target.applied_to(repository)
    return repository
