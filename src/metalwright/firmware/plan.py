"""Constraints × what is installed × the site's catalogue → steps in an order that works, or why there is none.

Nothing is guessed: a version that cannot be compared is unknown and starts no update; a downgrade needs the
blueprint's word; an image below the lowest version that the BMC takes back is refused here, not by a bricked board.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metalwright.firmware.components import Installed, entries_of, version_text
from metalwright.lifecycle.observations import VersionCheck
from metalwright.model.firmware import FirmwareImage, FirmwareRelease
from metalwright.model.report import HardwareReport
from metalwright.versions import compare, parse_version, satisfies

ORDER = ("bmc", "hgx-bmc", "erot", "fpga", "cpld", "bios")
"""What goes first where no image says what it needs: who does the updating, then roots of trust, then the rest."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a BMC says about a machine's firmware."""

    model: str | None
    bmc_version: str | None
    bios_version: str | None
    items: tuple[Installed, ...] = ()
    gpu_versions: tuple[str | None, ...] = ()

    @classmethod
    def of_report(cls, report: HardwareReport) -> Machine:
        """Return what a hardware report tells of it."""
        items = tuple(Installed(item.id, item.name, item.version) for item in report.firmware or ())
        gpus = tuple(gpu.firmware_version for gpu in report.gpus or ())
        return cls(report.system.model, report.bmc.firmware_version, report.system.bios_version, items, gpus)

    def entries(self, component: str) -> tuple[Installed, ...]:
        """Return the entries behind a component; manager and system are the better witnesses of their own version.

        Unless they show no version where the inventory has one (Lenovo: build U8E122J and 22J-1.51).
        """
        found = entries_of(component, self.items)
        known = self.told(component)
        if known is not None:
            first = found[0] if found else Installed(component)
            is_version = _is_version(known) or not _is_version(first.version or "")
            return (Installed(first.id, first.name, known if is_version else first.version, first.uri, first.lowest),)
        if component == "gpu" and not found:
            return tuple(Installed("gpu", version=version) for version in self.gpu_versions)
        return found

    def told(self, component: str) -> str | None:
        """Return what manager and system themselves say of a component."""
        return {"bmc": self.bmc_version, "bios": self.bios_version}.get(component)

    def versions(self, component: str) -> tuple[str | None, ...]:
        """Return the versions of a component, each once; one None where the BMC tells nothing."""
        found = [version_text(item.version) for item in self.entries(component)]
        return tuple(dict.fromkeys(found)) or (None,)


@dataclass(frozen=True, slots=True)
class Step:
    """One image to install. ``targets`` are URIs of the entries that it is for, empty: the BMC knows by the image."""

    image: FirmwareImage
    from_version: str | None
    targets: tuple[str, ...] = ()
    is_downgrade: bool = False

    @property
    def what(self) -> str:
        """What the step does, for people."""
        marks = [
            mark for mark, is_so in (("downgrade", self.is_downgrade), ("no way back", self.image.no_return)) if is_so
        ]
        return f"firmware {self.image.component}" + (f" ({', '.join(marks)})" if marks else "")


@dataclass(frozen=True)
class FirmwarePlan:
    """The verdict on every constraint, the steps in order, and what cannot be done with the reason."""

    checks: tuple[VersionCheck, ...] = ()
    steps: tuple[Step, ...] = ()
    refusals: tuple[str, ...] = ()


def firmware_checks(constraints: Mapping[str, str], machine: Machine) -> tuple[VersionCheck, ...]:
    """Return each constraint against each version of its component.

    Where the better witness cannot be compared with it, what system or manager themselves say is.
    """
    return tuple(
        _check(name, constraint, found, machine.told(name))
        for name, constraint in constraints.items()
        for found in machine.versions(name)
    )


def _check(name: str, constraint: str, found: str | None, told: str | None) -> VersionCheck:
    holds = satisfies(found, constraint)
    other = satisfies(told, constraint) if holds is None else None
    return (
        VersionCheck(name, constraint, found, holds) if other is None else VersionCheck(name, constraint, told, other)
    )


def _is_version(text: str) -> bool:
    version = parse_version(text)
    return version is not None and not version.is_build_id


def plan_firmware(
    constraints: Mapping[str, str],
    machine: Machine,
    catalogue: Iterable[FirmwareRelease],
    downgrades: Sequence[str] = (),
) -> FirmwarePlan:
    """Return the steps that bring every component within its constraint.

    ``downgrades`` names the components that the blueprint allows to go back.
    """
    images = [image for release in catalogue if release.fits(machine.model) for image in release.images]
    checks = firmware_checks(constraints, machine)
    planner = _Planner(constraints, machine, images, frozenset(downgrades))
    wrong = dict.fromkeys(check.name for check in checks if check.holds is False)
    for component in sorted(wrong, key=_rank):
        planner.bring(component, constraints[component], ())
    return FirmwarePlan(checks, tuple(planner.steps), tuple(dict.fromkeys(planner.refusals)))


def _rank(component: str) -> tuple[int, str]:
    return (ORDER.index(component) if component in ORDER else len(ORDER), component)


@dataclass
class _Planner:
    constraints: Mapping[str, str]
    machine: Machine
    images: list[FirmwareImage]
    downgrades: frozenset[str]
    steps: list[Step] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def bring(self, component: str, constraint: str, path: tuple[str, ...]) -> bool:
        """Add the steps that make a constraint hold; returns whether it will. ``path``: what led here, to end loops."""
        now = self._versions(component)
        if all(satisfies(version, constraint) for version in now):
            return True
        image = self._choose(component, constraint, path)
        if image is None:
            return False
        mark = f"{component} {image.version}"
        if not all(self.bring(name, needed, (*path, mark)) for name, needed in image.needs.items()):
            self.refusals.append(f"{component}: {image.version} needs {_needs(image)}, which cannot be reached")
            return False
        return self._add(component, image)

    def _versions(self, component: str) -> tuple[str | None, ...]:
        """The versions after the steps so far."""
        planned = [step.image.version for step in self.steps if step.image.component == component]
        return (planned[-1],) if planned else self.machine.versions(component)

    def _choose(self, component: str, constraint: str, path: tuple[str, ...]) -> FirmwareImage | None:
        """The newest image that satisfies the constraint, and the component's own one; none that led here."""
        wanted = [constraint, *([self.constraints[component]] if component in self.constraints else [])]
        own = [
            item for item in self.images if item.component == component and f"{component} {item.version}" not in path
        ]
        fitting = [image for image in own if satisfies(image.version, constraint)]
        best = [image for image in fitting if all(satisfies(image.version, item) for item in wanted)] or fitting
        if not best:
            here = ", ".join(image.version for image in own) or "none"
            self.refusals.append(
                f"{component}: expected {constraint}, found {_text(self._versions(component))}, "
                f"and no image in firmware/ fits ({self.machine.model or 'unknown model'}: {here})"
            )
            return None
        chosen = best[0]
        for image in best[1:]:
            order = compare(image.version, chosen.version)
            if order is None:
                self.refusals.append(f"{component}: {image.version} and {chosen.version} cannot be compared; keep one")
                return None
            chosen = image if order > 0 else chosen
        return chosen

    def _add(self, component: str, image: FirmwareImage) -> bool:
        entries = self.machine.entries(component)
        now = self._versions(component)
        orders = [compare(image.version, version) if version else None for version in now]
        is_downgrade = any(order == -1 for order in orders)
        if is_downgrade and component not in self.downgrades:
            self.refusals.append(
                f"{component}: {_text(now)} → {image.version} is a downgrade; "
                f"the blueprint must allow it with firmware_downgrades: [{component}]"
            )
            return False
        for entry in entries:
            if entry.lowest and compare(image.version, entry.lowest) not in (0, 1):
                self.refusals.append(f"{component}: {entry.id} takes nothing below {entry.lowest}, not {image.version}")
                return False
        uris = tuple(entry.uri for entry in entries if entry.uri) if image.is_targeted else ()
        self.steps.append(Step(image, ", ".join(version or "unknown" for version in now), uris, is_downgrade))
        return True


def _needs(image: FirmwareImage) -> str:
    return ", ".join(f"{name} {constraint}" for name, constraint in image.needs.items())


def _text(versions: Iterable[str | None]) -> str:
    return ", ".join(version or "unknown" for version in versions)
