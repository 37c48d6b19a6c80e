"""A site of one machine without what the software phase installs, and the packages that it can install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.machines import segment
from tests.machines.packages import build_package, index_repository
from tests.machines.site import MachineSite, machine_site

BARE = (
    "dpkg --force-all --purge containerd chrony prometheus-node-exporter unattended-upgrades >/dev/null 2>&1 || true\n"
)
"""What this computer may have, a fresh node has not."""


def write_stand_ins(directory: Path) -> Path:
    """Packages with the names, versions and units of those that ``lab-vm`` pins, and chrony."""
    directory.mkdir()
    build_package(directory, "containerd", "1.6.20~ds1-1+deb12u3", unit="containerd.service")
    build_package(directory, "containerd", "1.7.1-1", unit="containerd.service")
    build_package(directory, "prometheus-node-exporter", "1.5.0-1+b6", unit="prometheus-node-exporter.service")
    build_package(directory, "chrony", "4.3-2+deb12u1", unit="chrony.service")
    build_package(directory, "unattended-upgrades", "2.9.1+nmu3")
    index_repository(directory)
    return directory


@contextmanager
def bare_node(directory: Path) -> Iterator[MachineSite]:
    """``lab-1``, up, never deployed to, with the packages in ``/srv/stand-ins``."""
    stand_ins = write_stand_ins(directory / "stand-ins")
    with segment() as wires:
        site = machine_site(directory / "site", wires, setup=BARE)
        site.machines["lab-1"].put("/srv/stand-ins", stand_ins)
        yield site
