"""Blueprints: what cannot work is refused here, with no hardware in reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from metalwright.errors import LoadingError
from metalwright.loading.messages import nearest
from metalwright.loading.models import Loaded
from metalwright.loading.site_files import SiteFiles
from metalwright.model.blueprint import Blueprint
from metalwright.model.workloads import WORKLOAD_TESTS

_MOVING_VERSIONS = ("latest", "stable", "edge", "nightly", "main", "master", "head")


def check_blueprints(files: SiteFiles) -> Iterator[LoadingError]:
    """Tests, workloads, boot chain, versions and the way back."""
    for blueprint in files.blueprints.values():
        yield from _tests(blueprint, files.known_tests)
        yield from _workloads(blueprint)
        yield from _boot(blueprint)
        yield from _versions(blueprint)
        yield from _rollback(files, blueprint)


def _tests(blueprint: Loaded[Blueprint], known: Mapping[str, str | None] | None) -> Iterator[LoadingError]:
    seen: set[str] = set()
    for index, test in enumerate(blueprint.model.acceptance):
        where = partial(blueprint.where, "acceptance", index, "test")
        if test.test in seen:
            yield LoadingError(f"acceptance test {test.test} is listed twice", where=where())
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
        )
    if model.software.kernel_args:
        yield LoadingError(
            "under Secure Boot kernel arguments are a part of the image",
            where=blueprint.where("software", "kernel_args"),
            expected="none here; cmdline in the image's recipe",
            found=" ".join(model.software.kernel_args),
        )


def _versions(blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    software, image = blueprint.model.software, blueprint.model.image
    pins: list[tuple[tuple[str, ...], str]] = [(("image", "version"), image.version)]
    pins += [(("software", "agents", name), version) for name, version in software.agents.items()]
    if software.container_runtime is not None:
        pins.append((("software", "container_runtime", "version"), software.container_runtime.version))
    if software.accelerator is not None:
        stack = software.accelerator.model_dump(
            include={"driver", "subnet_manager", "container_toolkit", "dcgm", "rocm"}
        )
        pins += [(("software", "accelerator", key), version) for key, version in stack.items() if version is not None]
    for loc, version in pins:
        if version.lower() in _MOVING_VERSIONS:
            yield LoadingError(
                f"{'.'.join(loc)} names a version that moves",
                where=blueprint.where(*loc),
                expected="an exact version",
                found=version,
                hint="what is reviewed must be what is applied",
            )


def _rollback(files: SiteFiles, blueprint: Loaded[Blueprint]) -> Iterator[LoadingError]:
    previous = blueprint.model.rollback.previous
    if previous is None:
        return
    ref = f"{blueprint.model.name}@{previous}"
    if ref == blueprint.model.ref:
        yield LoadingError("a blueprint cannot roll back to itself", where=blueprint.where("rollback", "previous"))
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
