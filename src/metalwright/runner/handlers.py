"""The edges of one node: every observation and every act of the state table, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from metalwright.acceptance.signing import site_signing_key
from metalwright.acceptance.wipe_record import record_path, write_wipe_record
from metalwright.imaging.ordering import other_customers
from metalwright.journal.locks import NodeLock
from metalwright.lifecycle import Act, Effect, Failed, Wait
from metalwright.lifecycle.observations import (
    BiosObservation,
    Deviation,
    FirmwareObservation,
    HardenObservation,
    ImageObservation,
    Observation,
    OsView,
    ReadyObservation,
    SoftwareObservation,
)
from metalwright.model.deployment import Deployment
from metalwright.model.phase import NodeState, Phase
from metalwright.model.site import HARDENING_TITLES
from metalwright.runner.accepting import Accepting
from metalwright.runner.bios_watch import BiosWatch
from metalwright.runner.bmc_evidence import keep_bmc_evidence
from metalwright.runner.boot_lessons import learn_target
from metalwright.runner.calls import BMC_INVENTORY, OS_INVENTORY, pyinfra_call
from metalwright.runner.draining import Draining, may_carry_work
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.runner.observe_os import look_at_os
from metalwright.runner.os_evidence import keep_os_evidence
from metalwright.runner.pyinfra_process import Preview, PyinfraCall, PyinfraResult, preview_pyinfra, run_pyinfra
from metalwright.runner.restarting import Restarting
from metalwright.ssh import record_host_key
from metalwright.workspace import Workspace

APPLIES_RECIPE = frozenset({"firmware", "bios", "harden", "image", "software"})
"""Acts that make the node what the site's files say; the others only observe, move power, or clean up."""
BMC_TIMEOUT_S = 900.0
SOFTWARE_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Purpose:
    """Why this run looks at the node. ``lease_since`` is ``None`` when nothing will be written (a plan).

    ``undrained`` is a person's reason to disturb the node without draining it.
    """

    run: str
    is_rebuild: bool = False
    may_overwrite: bool = False
    lease_since: datetime | None = None
    will_be_granted: bool = False
    will_be_wiped: bool = False
    undrained: str | None = None


@dataclass
class NodeHandlers:
    """Handlers of one node for one invocation. ``lock`` is passed on to pyinfra children."""

    workspace: Workspace
    node: str
    purpose: Purpose
    lock: NodeLock | None = None
    software_changed: bool = False
    harden_preview: tuple[Preview, ...] = field(default=(), init=False)
    _is_target_doubtful: bool = field(default=False, init=False)
    _is_evidence_kept: bool = field(default=False, init=False)
    _progress_seen: tuple[str, datetime] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.bmc = BmcObserver(self.workspace, self.node)
        self.bios = BiosWatch(self.workspace, self.node)
        purpose = self.purpose
        self.draining = Draining(self.workspace, self.node, purpose.run, purpose.is_rebuild, purpose.undrained)
        self.restarting = Restarting(self.workspace, self.node)
        self.accepting = Accepting(self.workspace, self.node, self.purpose.run, self.bmc, self.lock)

    def observe(self, phase: Phase, deferred: tuple[str, ...]) -> Observation:
        """See :class:`metalwright.runner.turn.Handlers`."""
        observers: Mapping[Phase, Callable[[], Observation]] = {
            Phase.IDENTIFY: self.bmc.identify,
            Phase.CREDENTIALS: self.bmc.credentials,
            Phase.MATCH: self.bmc.match,
            Phase.ADDRESS: self.bmc.address,
            Phase.FIRMWARE: self._firmware,
            Phase.BIOS: self._bios,
            Phase.HARDEN: self._harden,
            Phase.IMAGE: self._image,
            Phase.SOFTWARE: self._software,
            Phase.ACCEPT: lambda: self.accepting.observe(self.software_changed, deferred),
            Phase.READY: lambda: self._ready(deferred),
        }
        return observers[phase]()

    def act(self, phase: Phase, act: Act) -> dict[str, Any]:
        """See :class:`metalwright.runner.turn.Handlers`."""
        if act.name in APPLIES_RECIPE:
            self.workspace.require_unchanged(self.node)
        if act.name == "image":
            self._keep_evidence()
        if act.name == "bios":
            self.bios.acts()
        if act.name == "power_off" and self._is_from_virtual_media():  # not booted; the next time by another target
            learn_target(self.workspace, self.node, did_boot=False)
            self._is_target_doubtful = True
        match act.name:
            case "accept":
                return self.accepting.accept()
            case "record":
                return self.accepting.record()
            case "restart":
                return self.restarting.restart()
            case "undrain":
                return self.draining.undrain()
            case "software":
                result = run_pyinfra(self._call(OS_INVENTORY, act.name, SOFTWARE_TIMEOUT_S))
                self.software_changed |= result.did_change
                self.restarting.is_applied = True
                self.workspace.require_unchanged(self.node)
            case _:
                result = run_pyinfra(self._call(BMC_INVENTORY, act.name, BMC_TIMEOUT_S))
        del phase
        return {"changed": list(result.changed), "unchanged": len(result.unchanged), "seconds": result.seconds}

    def clear_way(self, act: Act) -> Wait | Failed | None:
        """See :class:`metalwright.runner.turn.Handlers`."""
        if self.purpose.is_rebuild and act.effect is not Effect.READ:
            self._keep_evidence()  # before the drain, which changes what can be seen
        return self.draining.clear_way(act)

    def preview_software(self) -> tuple[Preview, ...]:
        """The operations of the software deploy that would change the operating system now."""
        return preview_pyinfra(self._call(OS_INVENTORY, "software", SOFTWARE_TIMEOUT_S))

    def cleanup(self, name: str) -> None:
        """See :class:`metalwright.runner.turn.Handlers`."""
        self._run_on_bmc(name)

    def close(self) -> None:
        """The run of the node is over: nothing that it started goes on."""
        self.draining.stop()

    def _keep_evidence(self) -> None:
        if not self._is_evidence_kept:
            self._is_evidence_kept = True
            if self.purpose.is_rebuild:
                keep_bmc_evidence(self.workspace, self.node, self.purpose.run)
            keep_os_evidence(self.workspace, self.node, self.purpose.run)

    def _ready(self, deferred: tuple[str, ...]) -> ReadyObservation:
        seen = self.accepting.observe_ready(deferred)
        return replace(seen, undrain=self.draining.undrain_view())

    def _run_on_bmc(self, name: str) -> PyinfraResult:
        return run_pyinfra(self._call(BMC_INVENTORY, name, BMC_TIMEOUT_S))

    def _firmware(self) -> FirmwareObservation:
        seen = self.bmc.firmware()
        if self.purpose.may_overwrite or not seen.changes():
            return seen
        system = look_at_os(self.workspace, self.node)
        return replace(seen, stranger=system.detail) if system.kind == "answers" else seen

    def _bios(self) -> BiosObservation:
        is_planning = self.purpose.lease_since is None
        seen = self.bios.observe(self.bmc.report() if is_planning else None)
        if self.purpose.may_overwrite or not seen.changes():
            return seen
        system = look_at_os(self.workspace, self.node)
        return replace(seen, stranger=system.detail) if system.kind == "answers" else seen

    def _harden(self) -> HardenObservation:
        self.harden_preview = preview_pyinfra(self._call(BMC_INVENTORY, "harden", BMC_TIMEOUT_S))
        changes = [item.operation for item in self.harden_preview]
        required = self.workspace.repository.site.hardening.required
        optional = {name for item, name in HARDENING_TITLES.items() if item not in required}
        return HardenObservation(
            tuple(Deviation(name, "differs", "as site and blueprint say", name not in optional) for name in changes)
        )

    def _image(self) -> ImageObservation:
        pin = self.workspace.blueprint(self.node).image
        host = self.bmc.host()  # before the deployment: the ramdisk reports, then powers off
        deployment = self._deployment()
        self._trust_reported_key(deployment)
        self._keep_wipe_record(deployment)
        if self._is_target_doubtful and deployment is not None and deployment.hello is not None:
            learn_target(self.workspace, self.node, did_boot=True)
            self._is_target_doubtful = False
        system, now = look_at_os(self.workspace, self.node), datetime.now(UTC)
        grant = self.workspace.journal.grants.find_valid(self.node, pin.file_sha256, now, run=self.purpose.run)
        return ImageObservation(
            wanted_image=f"{pin.name}@{pin.version}",
            wanted_sha256=pin.file_sha256,
            journal_id=self.workspace.journal.id,
            is_rebuild=self.purpose.is_rebuild,
            os=system,
            power=host.power,
            is_medium_inserted=host.is_medium_inserted,
            deployment=deployment,
            is_own_deployment=self._is_own(deployment),
            has_grant=self.purpose.will_be_granted or grant is not None,
            may_overwrite=self.purpose.may_overwrite,
            was_ready=self._was_ready(),
            progress_age_s=self._progress_age_s(deployment),
            boot_progress=host.boot_progress,
            is_override_set=host.is_override_set,
            is_medium_read=deployment is not None and self._is_medium_read(deployment),
            boot=host.boot,
            other_customers=self._other_customers(system),
            may_wipe=self.purpose.will_be_wiped or (grant is not None and bool(grant.wipe)),
        )

    def _is_from_virtual_media(self) -> bool:
        deployment = self._deployment()
        return deployment is None or deployment.boot_method == "virtual-media"

    def _is_medium_read(self, deployment: Deployment) -> bool:
        return self.workspace.journal.deployments.medium_read(deployment.deployment_id) is not None

    def _deployment(self) -> Deployment | None:
        newest = self.workspace.journal.deployments.newest_of_node(self.node, datetime.now(UTC))
        if newest is not None and self.purpose.is_rebuild and newest.run != self.purpose.run:
            return None
        return newest

    def _is_own(self, deployment: Deployment | None) -> bool:
        since = self.purpose.lease_since
        return deployment is not None and since is not None and deployment.created >= since

    def _other_customers(self, system: OsView) -> tuple[str, ...]:
        """By the journal and by the stamp of the system that answers."""
        found = set(other_customers(self.workspace, self.node, datetime.now(UTC)))
        stamped, own = system.stamp, self.workspace.repository.node(self.node).customer
        if stamped is not None and stamped.customer != own:
            found.add(stamped.customer or "none")
        return tuple(sorted(found))

    def _keep_wipe_record(self, deployment: Deployment | None) -> None:
        """What the ramdisk erased and proved is kept as a signed record, once."""
        state = self.workspace.paths.state
        if deployment is None or deployment.done is None or not deployment.done.wiped:
            return
        if record_path(state, self.node, deployment.run).exists():
            return
        now = datetime.now(UTC)
        earlier = self.workspace.journal.deployments.written(self.node, now)[1:]
        former = earlier[0].task.stamp.customer if earlier else None
        path = write_wipe_record(deployment, former, site_signing_key(state), state, now)
        detail = {"file": str(path), "disks": [disk.serial for disk in deployment.done.wiped]}
        self.workspace.journal.events.note("disks erased", node=self.node, run=deployment.run, detail=detail)

    def _was_ready(self) -> bool:
        """Whether the node ever joined the pool, by the journal or by git: only a rebuild writes its disk again."""
        status = self.workspace.journal.nodes.get(self.node)
        is_settled = status is not None and status.state in (NodeState.READY, NodeState.HELD)
        return is_settled or may_carry_work(self.workspace, self.node)

    def _progress_age_s(self, deployment: Deployment | None) -> float | None:
        """Seconds since the last change that the ramdisk reported, as seen by this invocation."""
        if deployment is None or deployment.state.is_final:
            return None
        now = datetime.now(UTC)
        mark = f"{deployment.deployment_id} {deployment.state} {deployment.progress}"
        if self._progress_seen is None or self._progress_seen[0] != mark:
            self._progress_seen = (mark, now)
        return (now - self._progress_seen[1]).total_seconds()

    def _trust_reported_key(self, deployment: Deployment | None) -> None:
        """The host key came over the ramdisk's authenticated channel: SSH may expect it from now on."""
        if deployment is not None and deployment.done is not None and deployment.done.ssh_host_key:
            target = self.workspace.ssh_target(self.node)
            record_host_key(self.workspace.known_hosts(), target.hostname, target.port, deployment.done.ssh_host_key)

    def _software(self) -> SoftwareObservation:
        known = self.workspace.repository.known_good.of_node(self.node)
        accepted = known.recipe if known else None
        return SoftwareObservation(self.workspace.recipe(self.node), accepted, self.restarting.look())

    def _call(self, inventory: str, name: str, timeout_s: float) -> PyinfraCall:
        run, lock = self.purpose.run, self.lock
        return pyinfra_call(
            self.workspace, self.node, name, run=run, lock=lock, inventory=inventory, timeout_s=timeout_s
        )
