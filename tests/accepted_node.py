"""A node with a simulated BMC, and a system that this machine plays: what ``accept`` needs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.loopback_ssh import LoopbackServer, serving
from tests.operations.redfish.site import FACTORY_PASSWORD, LabSite, lab_site

from metalwright.acceptance.expectations import expectations
from metalwright.cli.app import run
from metalwright.loading.locks import write_known_good
from metalwright.model.addresses import KnownGood, KnownGoodLock
from metalwright.model.image import Stamp
from metalwright.runner import accepting, cold_restart, power_sampling

IMAGE = "sha256:" + "1" * 64
CAT = """\
case "$1" in
  /etc/metalwright/stamp.json) set -- {directory}/stamp.json;;
  /proc/sys/kernel/random/boot_id) set -- {directory}/boot_id;;
esac
exec /bin/cat "$@"
"""
STRESS = """\
touch {loaded}; sleep 1; rm {loaded}
cat <<'END'
metrics:
    - stressor: cpu
      bogo-ops: 400
      bogo-ops-per-second-real-time: 398.5
END
"""


@dataclasses.dataclass
class Node:
    """The node ``lab-1``; ``loaded`` exists while something loads it."""

    site: LabSite
    loaded: Path

    @property
    def certificate(self) -> Path:
        return self.site.root / ".metalwright/acceptance/lab-1/certificate.json"

    def cli(self, *arguments: str) -> int:
        return run(["--site", str(self.site.root), *arguments])

    def accept(self, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = self.cli("accept", "lab-1", "--yes", "--json")
        said = capsys.readouterr()
        assert said.out, said.err
        return code, json.loads(said.out)

    def verify(self, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = self.cli("certificate", "verify", str(self.certificate), "--json", *options)
        return code, json.loads(capsys.readouterr().out)


def add_blueprint(root: Path, *tests: str) -> None:
    """Version 1.1.0 of the lab's blueprint with these tests alone, and the node pinned to it."""
    old = (root / "blueprints/lab-vm/1.0.0.yaml").read_text()
    head, _, tail = old.replace("version: 1.0.0\n", "version: 1.1.0\n", 1).partition("acceptance:\n")
    listed = "".join(f"  - {{{test}}}\n" for test in tests)
    rest = tail[tail.index("\nrollback:") :]
    (root / "blueprints/lab-vm/1.1.0.yaml").write_text(f"{head}acceptance:\n{listed}{rest}")
    rack = root / "inventory/racks/rack-1.yaml"
    rack.write_text(rack.read_text().replace("lab-vm@1.0.0", "lab-vm@1.1.0"))


@pytest.fixture
def accepted_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    tools, loaded = tmp_path / "tools", tmp_path / "loaded"
    tools.mkdir()
    stamp = Stamp(
        node="lab-1",
        run="r1",
        recipe="sha256:1",
        image=IMAGE,
        journal="j",
        written=datetime.now(UTC) - timedelta(days=1),
    )
    (tmp_path / "stamp.json").write_text(json.dumps(stamp.to_json()))
    (tmp_path / "boot_id").write_text("boot-a\n")
    put(tools, "cat", CAT.format(directory=tmp_path))
    put(tools, "stress-ng", STRESS.format(loaded=loaded))
    put(tools, "sudo", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    monkeypatch.setenv("PATH", f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("FACTORY_PASSWORD", FACTORY_PASSWORD)
    monkeypatch.setattr(accepting, "pinned_entry", lambda workspace, node: None)
    monkeypatch.setattr(accepting, "expectations", only_measured)
    monkeypatch.setattr(cold_restart, "PAUSE_S", 0.1)
    monkeypatch.setattr(cold_restart, "STEADY_S", 0.0)
    monkeypatch.setattr(power_sampling, "REST_S", 0.6)
    monkeypatch.setattr(power_sampling, "INTERVAL_S", 0.1)
    with serving(tmp_path) as server:
        ssh = f"ssh: {{private_key: {server.client_key_path}}}\n"
        with lab_site(tmp_path / "site", 1, 5, prefix="127.106", site=ssh) as site:
            add_blueprint(site.root, "test: stress-cpu, floor: 10, unit: ops/s", "test: power, record: true")
            reach(site, server)
            site.machines["lab-1"].system.power_draw_w = lambda: 35.0 if loaded.exists() else 10.0
            yield Node(site, loaded)


def put(tools: Path, name: str, script: str) -> None:
    (tools / name).write_text(f"#!/bin/sh\n{script}\n")
    (tools / name).chmod(0o755)


def only_measured(*arguments: Any, **named: Any) -> dict[str, Any]:
    """This machine is no node of the site: of the checks those alone that load it."""
    expected = expectations(*arguments, **named)
    return {**expected, "checks": {"measured": expected["checks"]["measured"]}}


def reach(site: LabSite, server: LoopbackServer) -> None:
    """SSH to the node goes to ``server``, whose key is the known one."""
    rack = site.root / "inventory/racks/rack-1.yaml"
    rack.write_text(rack.read_text() + f"    ssh: {{host: {server.target.hostname}, port: {server.port}}}\n")
    known = KnownGood(
        node="lab-1",
        blueprint="lab-vm@1.0.0",
        recipe="sha256:1",
        image="debian-12@1",
        image_sha256="1" * 64,
        firmware={},
        certificate="sha256:" + "2" * 64,
        ssh_host_key=server.public_host_key,
    )
    write_known_good(site.root / "inventory/known-good.lock", KnownGoodLock(nodes=(known,)))
