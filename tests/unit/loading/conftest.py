"""A valid site repository that a test may break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metalwright.errors import LoadingError
from metalwright.loading import SiteReading, read_site

INVENTORY = {
    "site.yaml": """\
schema: 1
name: s1
domain: example.net
ntp: [ntp.example.net]
boot_server: {address_for_bmc: 10.0.0.2, address_for_node: 10.1.0.2}
admins: [{name: op, authorized_keys: [ssh-ed25519 AAAA]}]
""",
    "networks.yaml": """\
schema: 1
networks:
  - {name: oob, purpose: oob-management, vlan: 20, prefix: 10.0.0.0/24}
  - {name: hosts, purpose: host-management, vlan: 30, prefix: 10.1.0.0/24}
""",
    "racks/r1.yaml": """\
schema: 1
name: r1
site: s1
height_u: 10
feeds: [{name: a, volts: 230, breaker_a: 16}, {name: b, volts: 230, breaker_a: 16}]
nodes:
  - {name: n1, unit: 1, serial: S-1, bmc_mac: 52:54:00:00:00:01, blueprint: box@1.0.0}
  - {name: n2, unit: 3, serial: S-2, bmc_mac: 52:54:00:00:00:02, blueprint: box@1.0.0}
""",
}
BLUEPRINT = """\
schema: 1
name: box
version: 1.0.0
class: {role: box, owner: infra, workloads: [general]}
hardware:
  system: {manufacturer: M, models: [X]}
  chassis: {height_u: 2}
  cpus: {count: 1}
  memory: {total_gib: 4}
  nics: [{role: host, count: 1}]
  drives: [{role: system, count: 1, min_bytes: 1000}]
power: {idle_w: 100, typical_w: 500, max_w: 1000}
boot: {secure_boot: false}
network: [{role: host, networks: [host-management]}]
image: {name: img, version: 1.0, file_sha256: 1111111111111111111111111111111111111111111111111111111111111111}
acceptance: [{test: cpu-hash, floor: 10, unit: MB/s}]
"""


class BrokenSite:
    """A site repository on disk; ``edit`` replaces text in a file, ``errors`` reads it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in INVENTORY.items():
            self.write(f"inventory/{name}", text)
        self.write("blueprints/box/1.0.0.yaml", BLUEPRINT)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new, 1))

    def read(self) -> SiteReading:
        return read_site(self.root, {"cpu-hash": "MB/s", "disk-read": "MB/s"})

    def errors(self) -> tuple[LoadingError, ...]:
        return self.read().errors

    def only_error(self) -> tuple[str, str]:
        """What the one error says, and its place relative to the root."""
        (error,) = self.errors()
        return error.what, error.where.removeprefix(f"{self.root}/")


@pytest.fixture
def site(tmp_path: Path) -> BrokenSite:
    return BrokenSite(tmp_path)


@pytest.fixture
def warning_of(site: BrokenSite) -> Callable[[], LoadingError]:
    def only_power_warning() -> LoadingError:
        (warning,) = (warning for warning in site.read().warnings if "rack" in warning.what)
        return warning

    return only_power_warning
