"""``accept`` and ``certificate verify`` on a node with a simulated BMC, and a system that this machine plays."""

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

from metalwright.acceptance.certificate import make_certificate, sign, write_certificate
from metalwright.acceptance.expectations import expectations
from metalwright.acceptance.signing import site_signing_key
from metalwright.cli.app import run
from metalwright.loading.locks import write_known_good
from metalwright.model.addresses import KnownGood, KnownGoodLock
from metalwright.model.certificate import Certificate, TestResult
from metalwright.model.image import Stamp
from metalwright.runner import accepting, power_sampling

IMAGE = "sha256:" + "1" * 64
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
        code = self.cli("accept", "lab-1", "--json")
        return code, json.loads(capsys.readouterr().out)

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
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
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
    put(tools, "cat", f'[ "$1" = /etc/metalwright/stamp.json ] && set -- {tmp_path}/stamp.json\nexec /bin/cat "$@"')
    put(tools, "stress-ng", STRESS.format(loaded=loaded))
    put(tools, "sudo", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    monkeypatch.setenv("PATH", f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("FACTORY_PASSWORD", FACTORY_PASSWORD)
    monkeypatch.setattr(accepting, "pinned_image", lambda workspace, node: (None, None))
    monkeypatch.setattr(accepting, "expectations", only_measured)
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


def test_power_at_rest_and_under_load_goes_into_the_certificate(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    code, certificate = node.accept(capsys)
    assert {test["name"]: test["verdict"] for test in certificate["tests"]} == {
        "stress-cpu": "PASS",
        "power": "PASS",
        "boot:same": "PASS",
    }
    assert (code, certificate["verdict"]) == (0, "PASS")
    assert certificate["power_w"] == {"idle": 10.0, "typical": 35.0, "max": 35.0}
    assert certificate["blueprint"] == "lab-vm@1.1.0"
    assert certificate["boot"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert certificate["serials"]["system"] == "LAB0001"
    assert certificate["serials"]["psu PSU1"] == "LAB0001-PSU1"
    assert (certificate["void"], certificate["not_compared"]) == ([], [])


def test_another_part_or_another_recipe_voids_a_certificate_and_verify_says_which(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert node.accept(capsys)[0] == 0
    assert node.verify(capsys)[0] == 0

    issued = Certificate.model_validate_json(node.certificate.read_text())
    before = {**issued.serials, "psu PSU1": "OLD", "psu PSU3": "GONE"}
    other = issued.model_copy(update={"serials": before, "signature": None})
    write_certificate(sign(other, site_signing_key(node.site.root / ".metalwright")), node.certificate)
    code, found = node.verify(capsys)
    assert (code, found["void"]) == (1, ["part: psu PSU1 was OLD, is LAB0001-PSU1", "part: psu PSU3 is gone (GONE)"])
    write_certificate(issued, node.certificate)

    (node.site.root / "templates/extra.j2").write_text("another file is another recipe\n")
    code, found = node.verify(capsys)
    assert (code, len(found["void"])) == (1, 1)
    assert found["void"][0].startswith("recipe: certified with sha256:")
    assert node.verify(capsys, "--offline")[1]["not_compared"] == ["parts: not asked for"]
    assert node.cli("certificate", "verify", str(node.certificate)) == 1
    assert "void: recipe: certified with" in capsys.readouterr().out


def test_a_bmc_that_does_not_answer_leaves_the_parts_uncompared_which_is_no_yes(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert node.accept(capsys)[0] == 0
    node.site.machines["lab-1"].system.faults.rule("GET", "/redfish/v1/Systems", status=404)
    code, found = node.verify(capsys)
    assert (code, found["void"]) == (1, [])
    assert found["not_compared"][0].startswith("parts: the machine was not read")
    assert node.verify(capsys, "--offline")[0] == 0


def test_more_power_than_the_racks_were_planned_with_is_no_pass(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.site.machines["lab-1"].system.power_draw_w = lambda: 41.0 if node.loaded.exists() else 10.0
    code, certificate = node.accept(capsys)
    power = next(test for test in certificate["tests"] if test["name"] == "power")
    assert (code, power["verdict"]) == (1, "FAIL")
    assert power["why"] == "41 W is more than power.max_w of the blueprint, 40 W"


def test_a_bmc_that_tells_no_power_leaves_the_test_not_run(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.site.machines["lab-1"].system.faults.rule("GET", "/EnvironmentMetrics", status=404)
    code, certificate = node.accept(capsys)
    power = next(test for test in certificate["tests"] if test["name"] == "power")
    assert (code, certificate["verdict"], power["verdict"]) == (1, "NOT-RUN", "NOT-RUN")
    assert "does not tell how much power" in power["why"]
    assert certificate["power_w"] == {"idle": None, "typical": None, "max": None}


def other_nodes(site: LabSite, *values: float) -> None:
    """Certificates of further nodes of the class."""
    rack = site.root / "inventory/racks/rack-1.yaml"
    key = site_signing_key(site.root / ".metalwright")
    for number, value in enumerate(values, start=2):
        keys = f"serial: S{number}, bmc_mac: 52:54:00:bc:01:{number:02x}"
        rack.write_text(rack.read_text() + f"  - {{name: lab-{number}, {keys}, blueprint: lab-vm@1.0.0}}\n")
        certificate = make_certificate(
            node=f"lab-{number}",
            serials={},
            recipe="sha256:1",
            image=IMAGE,
            tests=[TestResult(name="stress-cpu", verdict="PASS", value=value, unit="ops/s")],
            issued=datetime.now(UTC),
        )
        path = site.root / f".metalwright/acceptance/lab-{number}/certificate.json"
        write_certificate(sign(certificate, key), path)


@pytest.mark.parametrize(
    ("others", "verdict", "said"),
    [
        ((500, 501, 499, 502, 498), "FAIL", "398.5 ops/s is under the band of 5 other nodes"),
        ((500, 501, 499), "PASS", "3 other nodes have a value, a band needs 5: the floor alone counts"),
    ],
)
def test_a_value_is_compared_with_the_certificates_of_its_fleet(
    node: Node, capsys: pytest.CaptureFixture[str], others: tuple[float, ...], verdict: str, said: str
) -> None:
    add_blueprint(node.site.root, "test: stress-cpu, floor: 10, unit: ops/s, fleet_band: 5 %")
    other_nodes(node.site, *others)
    code, certificate = node.accept(capsys)
    test = next(test for test in certificate["tests"] if test["name"] == "stress-cpu")
    assert (test["verdict"], certificate["verdict"], code) == (verdict, verdict, int(verdict != "PASS"))
    assert said in test["why"]
