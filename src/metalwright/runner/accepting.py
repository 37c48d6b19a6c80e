"""From a running system to a ready node: the acceptance run, its certificate, and the known-good tuple."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metalwright.acceptance.burn_in.tests import BURN_IN
from metalwright.acceptance.catalogue import COLD_RESTART, POWER, disturbs
from metalwright.acceptance.certificate import make_certificate, sign, write_certificate
from metalwright.acceptance.expectations import expectations
from metalwright.acceptance.firewall import Firewall
from metalwright.acceptance.job import Job
from metalwright.acceptance.links import links
from metalwright.acceptance.platform_checks import isolation_checks
from metalwright.acceptance.power import power_figures, power_result
from metalwright.acceptance.run import AcceptanceResult, run_acceptance
from metalwright.acceptance.signing import site_signing_key
from metalwright.acceptance.validity import changed_parts, parts_of
from metalwright.acceptance.verdicts import certified_results
from metalwright.errors import AcceptanceError, SshUnreachableError
from metalwright.imaging.ordering import login_key, pinned_entry
from metalwright.journal.locks import NodeLock
from metalwright.lifecycle.observations import AcceptObservation, ReadyObservation
from metalwright.loading.file_lock import exclusive
from metalwright.loading.locks import read_known_good, write_known_good
from metalwright.matching import match
from metalwright.model.addresses import KnownGood, KnownGoodLock
from metalwright.model.certificate import Certificate, PowerFigures, TestResult, TestVerdict
from metalwright.model.image import Stamp
from metalwright.model.phase import NodeState
from metalwright.model.rack import Node
from metalwright.node_files import firewall_files, node_data
from metalwright.runner.certificates import certificate_of, certificate_path, fleet_values
from metalwright.runner.cold_restart import ColdRestart
from metalwright.runner.deferrals import unheard, unsettled
from metalwright.runner.observe_bmc import BmcObserver
from metalwright.runner.observe_os import look_at_os
from metalwright.runner.power_sampling import PowerSampling
from metalwright.templates import render
from metalwright.workspace import Workspace


@dataclass
class Accepting:
    """Acceptance of one node in one run."""

    workspace: Workspace
    node: str
    run: str
    bmc: BmcObserver
    lock: NodeLock | None = None

    @property
    def directory(self) -> Path:
        """Where JUnit, log and certificate of the newest acceptance lie."""
        return self.workspace.paths.state / "acceptance" / self.node

    @property
    def certificate_path(self) -> Path:
        """The certificate in force."""
        return certificate_path(self.workspace.paths, self.node)

    def observe(self, software_changed: bool, deferred: tuple[str, ...] = ()) -> AcceptObservation:
        """The certificate in force, if it is authentic, about this recipe, these parts and this system.

        It must also have heard what the BMC leaves open now.
        """
        recipe = self.workspace.recipe(self.node)
        certificate = self.certificate()
        is_valid = (
            certificate is not None
            and certificate.verdict == "PASS"
            and certificate.recipe == recipe
            and not unheard(deferred, certificate.tests)
            and not changed_parts(certificate.serials, parts_of(self.bmc.report()))
            and self._is_of_this_system(certificate)
        )
        tests_disturb = disturbs(self.workspace.blueprint(self.node))
        return AcceptObservation(recipe, certificate, is_valid, software_changed, tests_disturb)

    def observe_ready(self, deferred: tuple[str, ...]) -> ReadyObservation:
        """What no witness has settled, and whether the known-good tuple is recorded in git's lock and the journal."""
        certificate = self.certificate()
        left = unsettled(deferred, certificate.tests if certificate else ())
        if certificate is None:
            return ReadyObservation((*left, "acceptance"), is_recorded=False)
        known = self._read_lock().of_node(self.node)
        status = self.workspace.journal.nodes.get(self.node)
        is_ready = status is not None and status.state is self._end_state
        return ReadyObservation(left, is_recorded=is_ready and known is not None and known == self._known_good())

    def accept(self) -> dict[str, Any]:
        """Run the tests on the node and issue a certificate, whatever its verdict.

        Raises:
            AcceptanceError: the system carries no stamp, so that nothing can be said about it.
        """
        stamp, boot = self._stamp()
        blueprint = self.workspace.blueprint(self.node)
        restarted = []
        if any(test.test == COLD_RESTART for test in blueprint.acceptance):
            restarted = [ColdRestart(self.workspace, self.node, self.run, self.lock).test()]
            stamp, boot = self._stamp()  # what follows is tested on the boot after it
        result, power, more = self._measured(self._job(stamp))
        tests = [*result.tests, *restarted, *more, self._same_boot(boot)]
        certificate = make_certificate(
            node=self.node,
            serials=parts_of(self.bmc.report()),
            blueprint=blueprint.ref,
            recipe=self.workspace.recipe(self.node),
            image=stamp.image,
            tests=certified_results(blueprint, tests, {}, fleet_values(self.workspace, self.node)),
            issued=datetime.now(UTC),
            power=power,
            boot=boot,
        )
        write_certificate(sign(certificate, site_signing_key(self.workspace.paths.state)), self.certificate_path)
        return {"verdict": certificate.verdict, "tests": len(certificate.tests), "junit": str(result.junit)}

    def _measured(self, job: Job) -> tuple[AcceptanceResult, PowerFigures, tuple[TestResult, ...]]:
        """The suite's results; where the blueprint asks for it, with the power that the node drew meanwhile."""
        blueprint = self.workspace.blueprint(self.node)
        asked = next((test for test in blueprint.acceptance if test.test == POWER), None)
        if asked is None:
            return run_acceptance(job, self.directory), PowerFigures(), ()
        with PowerSampling(self.workspace, self.node) as sampling:
            rest = sampling.rest()
            result = run_acceptance(job, self.directory)
        figures = power_figures(sampling.readings, rest, result.loads)
        has_load = any(test.test in BURN_IN and BURN_IN[test.test].is_load for test in blueprint.acceptance)
        power = power_result(asked, figures, has_load=has_load, budget=blueprint.power, problem=sampling.problem)
        return result, figures, (power,)

    def _same_boot(self, before: str | None) -> TestResult:
        """Results of two boots are results of none."""
        after = look_at_os(self.workspace, self.node).boot_id
        verdict: TestVerdict = "PASS" if before is not None and before == after else "NOT-RUN"
        why = None if verdict == "PASS" else f"the node restarted while it was tested: boot {before}, then {after}"
        return TestResult(name="boot:same", verdict=verdict, why=why)

    def record(self) -> dict[str, Any]:
        """Keep the known-good tuple in ``inventory/known-good.lock`` and in the journal; the node is ready."""
        known = self._known_good()
        path = self.workspace.paths.known_good
        with exclusive(self.workspace.paths.state / "locks" / "known-good.lock"):
            others = [item for item in self._read_lock().nodes if item.node != self.node]
            write_known_good(path, KnownGoodLock(nodes=tuple(sorted((*others, known), key=lambda item: item.node))))
        self.workspace.journal.nodes.set_known_good(known, self.run)
        self.workspace.journal.nodes.set_state(self.node, self._end_state, self._end_told(), self.run)
        return {"known_good": known.to_json()}

    @property
    def _end_state(self) -> NodeState:
        """``held`` where the node was brought to something else than git pins: nobody may change it unasked."""
        return NodeState.HELD if self.node in self.workspace.targets else NodeState.READY

    def _end_told(self) -> str:
        target = self.workspace.targets.get(self.node)
        if target is None:
            return "accepted"
        pinned = self.workspace.repository.node(self.node).blueprint
        return f"accepted with {target.describe(self.workspace.repository)}; git pins {pinned}"

    def _read_lock(self) -> KnownGoodLock:
        path = self.workspace.paths.known_good
        return read_known_good(path, root=self.workspace.paths.root) if path.exists() else KnownGoodLock()

    def _known_good(self) -> KnownGood:
        report, pin = self.bmc.report(), self.workspace.blueprint(self.node).image
        firmware = {"bmc": report.bmc.firmware_version, "bios": report.system.bios_version}
        return KnownGood(
            node=self.node,
            blueprint=self.workspace.blueprint(self.node).ref,
            recipe=self.workspace.recipe(self.node),
            image=f"{pin.name}@{pin.version}",
            image_sha256=pin.file_sha256,
            firmware={name: version for name, version in firmware.items() if version},
            certificate="sha256:" + hashlib.sha256(self.certificate_path.read_bytes()).hexdigest(),
            ssh_host_key=self._host_key(),
        )

    def certificate(self) -> Certificate | None:
        """The certificate in force; ``None`` when there is none, or it is not authentic, or expired."""
        return certificate_of(self.workspace.paths, self.node)

    def _is_of_this_system(self, certificate: Certificate) -> bool:
        stamp = look_at_os(self.workspace, self.node).stamp
        return stamp is not None and stamp.image == certificate.image and stamp.written <= certificate.issued

    def _job(self, stamp: Stamp) -> Job:
        workspace, repository = self.workspace, self.workspace.repository
        blueprint, node = workspace.blueprint(self.node), repository.node(self.node)
        allocated = repository.addresses.of_node(self.node)
        expected = expectations(
            blueprint,
            node,
            site=repository.site,
            links=links(blueprint, node, repository.networks, allocated, repository.addresses.of_node_v6(self.node)),
            stamp=stamp,
            image=pinned_entry(workspace, self.node),
            deferred=[item.code for item in match(blueprint, self.bmc.report(), node).findings],
            isolation=isolation_checks(repository.networks, allocated, self._bmcs()),
            firewall=self._firewall(node),
        )
        return Job(workspace.ssh_target(self.node), self._host_key(), expected, login_key(workspace))

    def _firewall(self, node: Node) -> Firewall:
        """The rules as the software phase renders them."""
        data = node_data(self.workspace.repository, node)
        (file,) = firewall_files(data["firewall"], data["open_tcp_ports"], data["scraped"], data["zones"])
        text = render(self.workspace.paths.root / "templates", f"node/{file.template}", file.values)
        scrapers = (*data["scraped"]["ip"], *data["scraped"]["ip6"])
        return Firewall(hashlib.sha256(text.encode()).hexdigest(), data["zones"], scrapers)

    def _bmcs(self) -> list[str]:
        """Addresses of BMCs: the node's own, then those of other nodes."""
        network = self.workspace.repository.network_of_purpose("oob-management")
        addresses = self.workspace.repository.addresses
        names = [self.node, *(node.name for node in self.workspace.repository.nodes() if node.name != self.node)]
        found = (addresses.of_node(name).get(network.name) for name in names) if network is not None else ()
        return [address for address in found if address is not None]

    def _stamp(self) -> tuple[Stamp, str | None]:
        """The stamp of the running system, and its boot id."""
        view = look_at_os(self.workspace, self.node)
        if view.kind == "silent":
            raise SshUnreachableError(
                "the system does not answer, so it cannot be tested",
                where=self.node,
                found=view.detail,
                hint="nothing was written; when it answers, the same command again",
            )
        if view.stamp is None:
            raise AcceptanceError(
                "the running system carries no stamp of ours",
                where=self.node,
                expected="/etc/metalwright/stamp.json",
                found=view.detail or view.kind,
                hint="rebuild the node: only a system that we wrote can be accepted",
            )
        return view.stamp, view.boot_id

    def _host_key(self) -> str:
        key = self.workspace.ssh_host_key(self.node)
        if key is None:
            raise AcceptanceError("no SSH host key of this node is known", where=self.node, hint="rebuild the node")
        return key
