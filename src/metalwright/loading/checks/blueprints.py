"""Blueprints: what cannot work is refused here, with no hardware in reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint, Hardware
from metalwright.model.workloads import WORKLOAD_TESTS

_EXPORTER_OF: Mapping[str, str] = {"dcgm_exporter": "nvidia", "amd_metrics_exporter": "amd"}


def check_blueprints(files: SiteFiles) -> Iterator[LoadingError]:
    """Tests, workloads, parts, boot chain and the way back."""
    for blueprint in files.blueprints.values():
        yield from _tests(blueprint, files.known_tests)
        yield from _workloads(blueprint)
        yield from _parts(blueprint)
        yield from _exporters(blueprint)
        yield from _boot(blueprint)
        yield from _rollback(files, blueprint)


def _tests(blueprint: Loaded[Blueprint], known: Mapping[str, str | None] | None) -> Iterator[LoadingError]:
    seen: set[str] = set()
    for index, test in enumerate(blueprint.model.acceptance):
        where = partial(blueprint.where, "acceptance", index, "test")
        if test.test in seen:
            yield LoadingError(f"acceptance test {test.test} is listed twice", where=where(), hint="keep one of them")
        seen.add(test.test)
        if known is None:
            continue
        if test.test not in known:
            yield LoadingError(f"unknown acceptance test {test.test!r}", where=where(), hint=nearest(test.test, known))
        elif test.unit != known[test.test] and (test.unit is not None or test.floor is not None):
            yield LoadingError(
                f"acceptance test {test.test} measures in another unit",
                where=blueprint.where("acceptance", index, "unit" if test.unit is not None else "floor"),
                expected=known[test.test] or "no unit, hence no floor",
                found=test.unit or "a floor without a unit",
                hint="compute the floor again in the test's own unit",
            )


def _workloads(blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    """A record without a floor proves nothing, so it does not count."""
    judged = {test.test for test in blueprint.model.acceptance if test.floor is not None}
    for index, workload in enumerate(blueprint.model.server_class.workloads):
        where = partial(blueprint.where, "class", "workloads", index)
        proofs = sorted(WORKLOAD_TESTS.get(workload, ()))
        if not proofs:
            yield LoadingError(
                f"no acceptance test is known for the workload {workload!r}",
                where=where(),
                hint=nearest(workload, WORKLOAD_TESTS),
            )
        elif not judged.intersection(proofs):
            yield LoadingError(
                f"the workload {workload!r} has no acceptance test",
                where=where(),
                expected=f"{' or '.join(proofs)} with a floor under acceptance",
                found=", ".join(sorted(judged)) or "none",
                hint="a class that promises a workload proves it: docs/reference/acceptance-tests.md lists the tests",
            )


def _parts(blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    """Cables of ports that the server has, each once; alternates of sections that there are."""
    counts = {group.role: group.count for group in blueprint.model.hardware.nics}
    ports = [f"{role}-{number}" for role, count in counts.items() for number in range(count)]
    seen: set[str] = set()
    for index, cable in enumerate(blueprint.model.cabling):
        where = partial(blueprint.where, "cabling", index, "port")
        if cable.port not in ports:
            shown = ", ".join(f"{role}-0 to {role}-{count - 1}" for role, count in counts.items()) or "no port"
            yield LoadingError(
                "cabling names a port that hardware.nics does not have",
                where=where(),
                expected=shown,
                found=cable.port,
                hint="ports are numbered within their role, from 0",
            )
        elif cable.port in seen:
            yield LoadingError(
                f"the port {cable.port} is plugged into two places", where=where(), hint="a port takes one cable"
            )
        seen.add(cable.port)
    sections = sorted(set(Hardware.model_fields) - {"alternates"})
    for section in blueprint.model.hardware.alternates:
        if section not in sections:
            yield LoadingError(
                f"alternates of {section!r}, which is no section of hardware",
                where=blueprint.where("hardware", "alternates", section),
                hint=nearest(section, sections),
            )


def _exporters(blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    """An exporter of GPU metrics serves the GPUs of one maker."""
    gpus = blueprint.model.hardware.gpus
    for agent in blueprint.model.software.agents:
        maker = _EXPORTER_OF.get(agent)
        if maker is not None and gpus is not None and gpus.vendor != maker:
            yield LoadingError(
                f"{agent} tells of other GPUs",
                where=blueprint.where("software", "agents", agent),
                expected=f"GPUs of {maker}",
                found=f"GPUs of {gpus.vendor}",
                hint="leave it out; the page about monitoring names the exporter of each maker",
            )


def _boot(blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    model = blueprint.model
    if not model.boot.secure_boot:
        return
    if model.boot.method != ("virtual-media",):
        yield LoadingError(
            "under Secure Boot the deploy ramdisk starts from virtual media alone",
            where=blueprint.where("boot", "secure_boot"),
            expected="boot.method: [virtual-media]",
            found=", ".join(model.boot.method),
            hint="what firmware fetches over the network is a program that nobody signed",
        )
    if model.software.accelerator is not None:
        yield LoadingError(
            "under Secure Boot the kernel refuses the driver's module, which is built on the node and signed by nobody",
            where=blueprint.where("software", "accelerator"),
            expected="boot.secure_boot: false, or no accelerator",
            found=f"{model.software.accelerator.vendor} {model.software.accelerator.driver}",
            hint="nodes with GPUs start without Secure Boot",
        )
    if model.software.kernel_args:
        yield LoadingError(
            "under Secure Boot kernel arguments are a part of the image",
            where=blueprint.where("software", "kernel_args"),
            expected="none here; cmdline in the image's recipe",
            found=" ".join(model.software.kernel_args),
            hint="put them into the recipe of the image and build it again: `metalwright image build`",
        )


def _rollback(files: SiteFiles, blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    previous = blueprint.model.rollback.previous
    if previous is None:
        return
    ref = f"{blueprint.model.name}@{previous}"
    if ref == blueprint.model.ref:
        yield LoadingError(
            "a blueprint cannot roll back to itself",
            where=blueprint.where("rollback", "previous"),
            hint="name the version before it, or leave previous out",
        )
    elif ref not in files.blueprints and files.paths.blueprint(ref) not in files.unreadable:
        versions = [
            other.model.version for other in files.blueprints.values() if other.model.name == blueprint.model.name
        ]
        yield LoadingError(
            f"no blueprint {ref} to roll back to",
            where=blueprint.where("rollback", "previous"),
            expected=f"the file {files.paths.blueprint(ref)}",
            hint=nearest(previous, versions),
        )
