"""Packages at exactly the versions that the blueprint pins."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

from pyinfra import host
from pyinfra.api import FunctionCommand, QuoteString, StringCommand

from metalwright.errors import DeployError
from metalwright.facts.apt import InstalledPackage, InstalledVersions, PackageCandidates
from metalwright.model.package import PackagePin
from metalwright.node_files import LOCK_TIMEOUT_S
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import answer, failure, node_operation

APT_GET = "DEBIAN_FRONTEND=noninteractive apt-get --quiet --assume-yes"
# `DPkg::Lock::Timeout` does not cover the lock of the package lists, so `update` waits for that one here.
UPDATE = """
waited_s=0
until text=$({apt_get} --option APT::Update::Error-Mode=any update 2>&1); do
  printf '%s\\n' "$text"
  case "$text" in *'Could not get lock'*) ;; *) exit 100;; esac
  [ $waited_s -lt {lock_timeout_s} ] || exit 100
  waited_s=$((waited_s + 5)); sleep 5
done
"""

# A package manager that was killed leaves a journal, and apt refuses to work until dpkg has taken it up.
REPAIR = """
waited_s=0
until [ -z "$(ls /var/lib/dpkg/updates)" ] || text=$({dpkg} --configure --pending 2>&1); do
  case "$text" in *'lock'*) ;; *) printf '%s\\n' "$text"; exit 100;; esac
  [ $waited_s -lt {lock_timeout_s} ] || {{ printf '%s\\n' "$text"; exit 100; }}
  waited_s=$((waited_s + 5)); sleep 5
done
"""
# What an interrupted installation left without its dependencies: completed, and nothing removed for it.
# `check` takes the lock as well, and waits for it for ever where nothing is said.
FIX_BROKEN = """
wait=DPkg::Lock::Timeout={lock_timeout_s}
{apt_get} --option $wait check > /dev/null 2>&1 || {apt_get} --option $wait {keep} --no-remove \\
  --no-install-recommends --fix-broken install || exit 100
"""
KEEP_SETTINGS = "--option Dpkg::Options::=--force-confdef --option Dpkg::Options::=--force-confold"
DPKG = "DEBIAN_FRONTEND=noninteractive dpkg --force-confdef --force-confold"

Commands = Generator[StringCommand | FunctionCommand, None, None]


@node_operation
def pinned(
    pins: Sequence[Mapping[str, Any]],
    *,
    present: Sequence[str] = (),
    allow_downgrade: bool = False,
    lock_timeout_s: int = LOCK_TIMEOUT_S,
) -> Commands:
    """Every package of ``pins`` (``PackagePin`` as JSON) is installed at its version, held, and read back.

    Packages of ``present`` are installed at any version. A newer version than the pinned one is replaced only with
    ``allow_downgrade``. Waits at most ``lock_timeout_s`` for another package manager and never removes its locks.
    When the sources offer no such version, the host fails and the error lists what they offer.
    """
    wanted = [PackagePin.model_validate(pin) for pin in pins]
    names = [*present, *(pin.name for pin in wanted)]
    if not names:
        host.noop("no package is asked for")
        return
    installed = answer(InstalledVersions, packages=names)
    missing = [pin for pin in wanted if not _is_met(pin, installed)]
    absent = [name for name in present if name not in installed]
    show_diff(_differences(wanted, missing, absent, installed))
    if missing or absent:
        script = REPAIR.strip() + UPDATE + FIX_BROKEN.strip()
        yield StringCommand(
            script.format(dpkg=DPKG, apt_get=APT_GET, keep=KEEP_SETTINGS, lock_timeout_s=lock_timeout_s)
        )
        yield from _install(missing, absent, installed, allow_downgrade, lock_timeout_s)
    unheld = [pin.name for pin in wanted if pin in missing or not installed[pin.name]["is_held"]]
    if unheld:
        yield StringCommand("apt-mark hold", *map(QuoteString, unheld))
    elif not absent:
        host.noop("all packages are at their versions and held")


def _differences(
    wanted: Sequence[PackagePin],
    missing: Sequence[PackagePin],
    absent: Sequence[str],
    installed: Mapping[str, InstalledPackage],
) -> Iterator[str]:
    for name in absent:
        yield line(f"package {name}", "absent", "installed")
    for pin in wanted:
        found = installed.get(pin.name)
        if pin in missing:
            yield line(f"package {pin.name}", found["version"] if found else "absent", pin.version)
        elif found is not None and not found["is_held"]:
            yield line(f"package {pin.name}", "not on hold", "on hold")


def _is_met(pin: PackagePin, installed: Mapping[str, InstalledPackage]) -> bool:
    return pin.name in installed and pin.is_met_by(installed[pin.name]["version"])


def _install(
    missing: Sequence[PackagePin],
    absent: Sequence[str],
    installed: Mapping[str, InstalledPackage],
    allow_downgrade: bool,
    lock_timeout_s: int,
) -> Commands:
    """Read what the sources offer (after the update, when this is no preview), install, read back."""
    offered = answer(PackageCandidates, packages=[pin.name for pin in missing]) if missing else {}
    chosen = {pin.name: pin.best_of(offered.get(pin.name, ())) for pin in missing}
    for pin in missing:
        if chosen[pin.name] is None:
            yield failure(_no_candidate(pin, offered.get(pin.name, ())))
            return
        if pin.name in installed and not allow_downgrade:
            yield _refuse_downgrade(pin, installed[pin.name]["version"], str(chosen[pin.name]))
    yield StringCommand(
        APT_GET,
        f"--option DPkg::Lock::Timeout={lock_timeout_s}",
        KEEP_SETTINGS,
        "--no-install-recommends --allow-change-held-packages",
        "--allow-downgrades" if allow_downgrade else "",
        "install",
        *(QuoteString(f"{name}={version}") for name, version in chosen.items()),
        *map(QuoteString, absent),
    )
    for name, version in chosen.items():
        yield StringCommand(
            "test \"$(dpkg-query --show --showformat '${db:Status-Status} ${Version}'", QuoteString(name), ')" =',
            QuoteString(f"installed {version}"),
        )  # fmt: skip


def _refuse_downgrade(pin: PackagePin, found: str, chosen: str) -> StringCommand:
    """The node's own dpkg compares; it fails when ``found`` is newer."""
    what = f"{pin.name} {found} is newer than the pinned {chosen}; a downgrade needs allow_downgrade in group_data"
    return StringCommand(
        "dpkg --compare-versions", QuoteString(found), "lt", QuoteString(chosen),
        "|| { echo", QuoteString(what), ">&2; exit 1; }",
    )  # fmt: skip


def _no_candidate(pin: PackagePin, candidates: tuple[str, ...]) -> DeployError:
    return DeployError(
        f"no source offers {pin.name} {pin.version}",
        where=host.name,
        expected=f"a Debian version {pin.version}, or one of upstream {pin.version}",
        found=", ".join(candidates) or "no version at all",
        hint="pin one of these in a new blueprint version, or add a source in site.yaml (apt: sources)",
    )
