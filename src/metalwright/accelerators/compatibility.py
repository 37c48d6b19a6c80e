"""Whether a blueprint's accelerator stack can work at all (pure), judged by the compatibility table.

What the table contradicts is refused. What it does not know is said as unknown and never counts as a pass: an unlisted
GPU is refused until the blueprint itself says which kernel modules it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from difflib import get_close_matches
from typing import Literal

from metalwright.accelerators.table import (
    DriverRow,
    GpuRow,
    container_rows,
    driver_rows,
    find_branch,
    find_gpu,
    gpu_rows,
    modules_for,
    release_of,
)
from metalwright.model.base import Frozen
from metalwright.model.blueprint import Accelerator, Blueprint, Gpus
from metalwright.versions import compare

Loc = tuple[str, ...]
STACK: Loc = ("software", "accelerator")


class Incompatibility(Frozen):
    """One thing that cannot work (``refused``), is not known, or ends soon (``warning``); ``loc`` names the key."""

    level: Literal["refused", "unknown", "warning"]
    loc: Loc
    what: str
    expected: str | None = None
    found: str | None = None
    hint: str | None = None


class Stack(Frozen):
    """A blueprint's GPUs and driver stack with their rows of the table, where there are any."""

    gpus: Gpus
    wanted: Accelerator
    gpu: GpuRow | None
    branch: DriverRow | None


def incompatibilities(
    blueprint: Blueprint, *, kernel: str | None = None, today: date | None = None
) -> tuple[Incompatibility, ...]:
    """Everything that is wrong or unknown; empty when all of it is known to work, or there is no accelerator.

    ``kernel`` is the release inside the image, ``today`` the day by which the end of support is judged; what is not
    given is not judged.
    """
    return tuple(_all(blueprint, kernel, today))


def stack_of(blueprint: Blueprint) -> Stack | None:
    """GPUs and stack of a blueprint that has both."""
    gpus, wanted = blueprint.hardware.gpus, blueprint.software.accelerator
    if gpus is None or wanted is None:
        return None
    gpu, branch = find_gpu(gpus.vendor, gpus.model), find_branch(wanted.vendor, wanted.driver)
    return Stack(gpus=gpus, wanted=wanted, gpu=gpu, branch=branch)


def _all(blueprint: Blueprint, kernel: str | None, today: date | None) -> Iterator[Incompatibility]:
    wanted, gpus, policy = blueprint.software.accelerator, blueprint.hardware.gpus, blueprint.policy
    for key, value in (("mig", policy.mig), ("power_cap_w", policy.power_cap_w)):
        if wanted is None and value is not None:
            yield _refused(("policy", key), f"policy.{key} needs a driver", "software.accelerator", "none")
    if wanted is None:
        return
    stack = stack_of(blueprint)
    if stack is None or gpus is None or gpus.vendor != wanted.vendor:
        found = f"GPUs of {gpus.vendor}" if gpus is not None else "no hardware.gpus"
        yield _refused((*STACK, "vendor"), "the driver is for other GPUs", f"GPUs of {wanted.vendor}", found)
        return
    yield from _gpu(stack)
    yield from _branch(stack, kernel, today)
    yield from _board(stack)
    yield from _containers(blueprint, stack)
    yield from _policy(blueprint, stack)


def _refused(loc: Loc, what: str, expected: str, found: str, hint: str | None = None) -> Incompatibility:
    return Incompatibility(level="refused", loc=loc, what=what, expected=expected, found=found, hint=hint)


def _unknown(loc: Loc, what: str, expected: str, found: str, hint: str | None = None) -> Incompatibility:
    return Incompatibility(level="unknown", loc=loc, what=what, expected=expected, found=found, hint=hint)


def _gpu(stack: Stack) -> Iterator[Incompatibility]:
    """The GPU, the first and last driver that know it, and the kernel modules that it needs."""
    gpu, wanted, model = stack.gpu, stack.wanted, stack.gpus.model
    release = release_of(wanted.vendor, wanted.driver)
    if gpu is None:
        names = [row.name for row in gpu_rows() if row.vendor == wanted.vendor]
        near = get_close_matches(model, names, n=1, cutoff=0.4)
        is_told = wanted.kernel_modules is not None or wanted.vendor == "amd"
        yield (_unknown if is_told else _refused)(
            ("hardware", "gpus", "model"),
            "unknown: no row of the compatibility table names this GPU",
            f"one of {', '.join(names)}",
            model,
            (f"did you mean {near[0]!r}? " if near else "")
            + f"an unlisted GPU is taken as written when {'.'.join(STACK)}.kernel_modules says open or proprietary",
        )
        return
    if (compare(release, gpu.driver_min) or 0) < 0:
        yield _refused(
            (*STACK, "driver"),
            f"this driver does not know the {gpu.name} ({gpu.architecture})",
            f"{gpu.driver_min} or newer",
            wanted.driver,
            f"nearest: {gpu.driver_min}; {gpu.source}",
        )
    if gpu.last_branch is not None and (compare(release.partition(".")[0], gpu.last_branch) or 0) > 0:
        yield _refused(
            (*STACK, "driver"),
            f"this driver no longer supports the {gpu.name} ({gpu.architecture})",
            f"branch {gpu.last_branch} or older",
            wanted.driver,
            f"nearest: a version {gpu.last_branch}.x; {gpu.source}",
        )
    if wanted.kernel_modules is not None and gpu.modules not in ("either", wanted.kernel_modules):
        yield _refused(
            (*STACK, "kernel_modules"),
            f"the {gpu.name} ({gpu.architecture}) works with other kernel modules",
            gpu.modules,
            wanted.kernel_modules,
            f"leave kernel_modules out, or set {gpu.modules}; {gpu.source}",
        )


def _branch(stack: Stack, kernel: str | None, today: date | None) -> Iterator[Incompatibility]:
    branch, wanted = stack.branch, stack.wanted
    if branch is None:
        known = [row.branch for row in driver_rows() if row.vendor == wanted.vendor]
        yield _unknown(
            (*STACK, "driver"),
            "unknown: no row of the compatibility table names this driver's branch",
            f"a branch of {', '.join(known)}",
            wanted.driver,
        )
        return
    chosen = wanted.kernel_modules or modules_for(stack.gpu, branch)
    fits_gpu = stack.gpu is None or stack.gpu.modules in ("either", chosen)
    if chosen is not None and fits_gpu and chosen not in branch.modules:
        expected, found = f"{' or '.join(branch.modules)} modules, or another branch", f"{chosen} modules"
        yield _refused((*STACK, "driver"), f"branch {branch.branch} ships no such modules", expected, found)
    if today is not None and branch.ends is not None and f"{today:%Y-%m}" > branch.ends:
        yield Incompatibility(
            level="warning",
            loc=(*STACK, "driver"),
            what=f"driver branch {branch.branch} gets no more security fixes",
            expected=f"a branch that is supported in {today:%Y-%m}",
            found=f"its support ended in {branch.ends}",
            hint=branch.source,
        )
    yield from _platform(wanted, branch)
    if kernel is not None:
        yield from _kernel(branch, kernel)


def _platform(wanted: Accelerator, branch: DriverRow) -> Iterator[Incompatibility]:
    """CUDA by its major version, ROCm by the vendor's list."""
    if wanted.cuda is not None and branch.cuda is not None:
        major, most = wanted.cuda.partition(".")[0], branch.cuda.partition(".")[0]
        if (compare(major, most) or 0) > 0:
            expected = f"CUDA {most} or older, or a newer driver"
            yield _refused((*STACK, "cuda"), f"driver {wanted.driver} runs no CUDA {major}", expected, wanted.cuda)
    if wanted.rocm is not None and branch.rocm:
        release = ".".join(wanted.rocm.split(".")[:2])
        if release not in branch.rocm:
            yield _refused(
                (*STACK, "rocm"),
                f"driver {wanted.driver} (release {release_of('amd', wanted.driver)}) does not go with this ROCm",
                f"ROCm {', '.join(branch.rocm)}",
                wanted.rocm,
                f"nearest: {min(branch.rocm, key=lambda known: _distance(known, release))}; {branch.source}",
            )


def _distance(left: str, right: str) -> float:
    """How far two releases such as 6.4 and 7.0 are apart."""
    first, second = (
        [int(part) if part.isdecimal() else 0 for part in (*text.split("."), "0")][:2] for text in (left, right)
    )
    return abs((first[0] - second[0]) * 10 + first[1] - second[1])


def _kernel(branch: DriverRow, kernel: str) -> Iterator[Incompatibility]:
    tested, version = branch.kernel_tested, kernel.partition("-")[0]
    if tested is not None and (compare(".".join(version.split(".")[:2]), tested) or 0) <= 0:
        return
    yield _unknown(
        (*STACK, "driver"),
        f"unknown: whether branch {branch.branch} builds for the kernel of the image",
        f"a kernel up to {tested}" if tested is not None else "a kernel that the table knows for this branch",
        kernel,
        "the software phase builds the modules and stops when they do not build; nothing is rebooted before that",
    )


def _board(stack: Stack) -> Iterator[Incompatibility]:
    """Fabric manager exactly where there is an NVSwitch, subnet manager exactly where the board needs it."""
    gpu, wanted, count = stack.gpu, stack.wanted, stack.gpus.count
    if wanted.vendor == "amd":
        for key, value in (("fabric_manager", wanted.fabric_manager), ("subnet_manager", wanted.subnet_manager),
                           ("dcgm", wanted.dcgm), ("cuda", wanted.cuda)):  # fmt: skip
            if value:
                yield _refused((*STACK, key), f"{key} is for GPUs of nvidia", f"no {key}", str(value))
        return
    if wanted.rocm is not None:
        yield _refused((*STACK, "rocm"), "rocm is for GPUs of amd", "no rocm", wanted.rocm)
    if gpu is None:
        return
    has_switch = gpu.has_nvswitch(count)
    if wanted.fabric_manager != has_switch:
        board = f"{count} × {gpu.name}"
        what = f"{board} has an NVSwitch: CUDA works only with the fabric manager" if has_switch else (
            f"{board} has no NVSwitch: the fabric manager would fail at every boot"
        )  # fmt: skip
        yield _refused(
            (*STACK, "fabric_manager"), what, str(has_switch).lower(), str(wanted.fabric_manager).lower(), gpu.source
        )
    if gpu.subnet_manager and has_switch and wanted.subnet_manager is None:
        what = f"the NVSwitches of {count} × {gpu.name} need the NVLink subnet manager beside the fabric manager"
        yield _refused((*STACK, "subnet_manager"), what, "the version of the package nvlsm", "none", gpu.source)
    if wanted.subnet_manager is not None and not (gpu.subnet_manager and has_switch):
        what = f"the board of {count} × {gpu.name} has nothing for a subnet manager"
        yield _refused((*STACK, "subnet_manager"), what, "none", wanted.subnet_manager, gpu.source)


def _containers(blueprint: Blueprint, stack: Stack) -> Iterator[Incompatibility]:
    toolkit, runtime = stack.wanted.container_toolkit, blueprint.software.container_runtime
    used = []
    if toolkit is not None:
        used.append(((*STACK, "container_toolkit"), f"{stack.wanted.vendor_toolkit}", toolkit))
        if runtime is not None:
            used.append((("software", "container_runtime", "version"), runtime.name, runtime.version))
    for loc, name, version in used:
        row = container_rows().get(name)
        if row is None:
            yield _unknown(loc, f"unknown: no row of the compatibility table names {name}", "a known program", name)
        elif (compare(version, row.oldest) or 0) < 0:
            expected = f"{row.oldest} or newer"
            yield _refused(
                loc, f"this {name} cannot {row.can}", expected, version, f"nearest: {row.oldest}; {row.source}"
            )


def _policy(blueprint: Blueprint, stack: Stack) -> Iterator[Incompatibility]:
    gpu, policy = stack.gpu, blueprint.policy
    if gpu is None:
        return
    if policy.mig == "enabled" and not gpu.has_mig:
        yield _refused(("policy", "mig"), f"the {gpu.name} has no MIG", "disabled, or no mig", "enabled", gpu.source)
    low, high = gpu.power_cap_w
    if policy.power_cap_w is not None and not low <= policy.power_cap_w <= high:
        what = f"the {gpu.name} takes no such power cap"
        yield _refused(("policy", "power_cap_w"), what, f"{low} to {high} W", f"{policy.power_cap_w} W")
