"""``accept`` and ``certificate verify`` on a node with a simulated BMC, and a system that this machine plays."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.accepted_node import IMAGE, STRESS, Node, accepted_node, add_blueprint, put
from tests.operations.redfish.site import LabSite

from metalwright.acceptance.certificate import make_certificate, sign, write_certificate
from metalwright.acceptance.signing import site_signing_key
from metalwright.model.certificate import Certificate, TestResult

__all__ = ["accepted_node"]


def test_power_at_rest_and_under_load_goes_into_the_certificate(
    accepted_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    code, certificate = accepted_node.accept(capsys)
    assert {test["name"]: test["verdict"] for test in certificate["tests"]} == {
        "stress-cpu": "PASS",
        "power": "PASS",
        "boot:same": "PASS",
    }
    assert (code, certificate["verdict"]) == (0, "PASS")
    assert certificate["power_w"] == {"idle": 10.0, "typical": 35.0, "max": 35.0}
    assert certificate["blueprint"] == "lab-vm@1.1.0"
    assert certificate["boot"] == "boot-a"
    assert certificate["serials"]["system"] == "LAB0001"
    assert certificate["serials"]["psu PSU1"] == "LAB0001-PSU1"
    assert (certificate["void"], certificate["not_compared"]) == ([], [])


def test_results_of_two_boots_are_results_of_none(accepted_node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    directory = accepted_node.loaded.parent
    put(
        directory / "tools",
        "stress-ng",
        f"{STRESS.format(loaded=accepted_node.loaded)}\necho boot-b >{directory}/boot_id",
    )
    code, certificate = accepted_node.accept(capsys)
    (same,) = [test for test in certificate["tests"] if test["name"] == "boot:same"]
    assert (code, certificate["verdict"], same["verdict"]) == (1, "NOT-RUN", "NOT-RUN")
    assert "boot boot-a, then boot-b" in same["why"]


def test_a_node_that_may_carry_work_is_loaded_only_when_somebody_says_so(
    accepted_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accepted_node.cli("accept", "lab-1") == 64
    assert "may stop a workload" in capsys.readouterr().err
    assert not accepted_node.certificate.exists()


def test_another_part_or_another_recipe_voids_a_certificate_and_verify_says_which(
    accepted_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    assert accepted_node.accept(capsys)[0] == 0
    assert accepted_node.verify(capsys)[0] == 0

    issued = Certificate.model_validate_json(accepted_node.certificate.read_text())
    before = {**issued.serials, "psu PSU1": "OLD", "psu PSU3": "GONE"}
    other = issued.model_copy(update={"serials": before, "signature": None})
    write_certificate(
        sign(other, site_signing_key(accepted_node.site.root / ".metalwright")), accepted_node.certificate
    )
    code, found = accepted_node.verify(capsys)
    assert (code, found["void"]) == (1, ["part: psu PSU1 was OLD, is LAB0001-PSU1", "part: psu PSU3 is gone (GONE)"])
    write_certificate(issued, accepted_node.certificate)

    (accepted_node.site.root / "templates/extra.j2").write_text("another file is another recipe\n")
    code, found = accepted_node.verify(capsys)
    assert (code, len(found["void"])) == (1, 1)
    assert found["void"][0].startswith("recipe: certified with sha256:")
    assert accepted_node.verify(capsys, "--offline")[1]["not_compared"] == ["parts: not asked for"]
    assert accepted_node.cli("certificate", "verify", str(accepted_node.certificate)) == 1
    assert "void: recipe: certified with" in capsys.readouterr().out

    (accepted_node.site.root / "templates/extra.j2").unlink()
    accepted_node.site.machines["lab-1"].system.faults.rule("GET", "/redfish/v1/Systems", status=404)
    code, found = accepted_node.verify(capsys)
    assert (code, found["void"]) == (1, [])
    assert found["not_compared"][0].startswith("parts: the machine was not read")
    assert accepted_node.verify(capsys, "--offline")[0] == 0


def test_a_bmc_that_tells_no_power_leaves_the_test_not_run(
    accepted_node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    accepted_node.site.machines["lab-1"].system.faults.rule("GET", "/EnvironmentMetrics", status=404)
    code, certificate = accepted_node.accept(capsys)
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
    ],
)
def test_a_value_is_compared_with_the_certificates_of_its_fleet(
    accepted_node: Node, capsys: pytest.CaptureFixture[str], others: tuple[float, ...], verdict: str, said: str
) -> None:
    add_blueprint(accepted_node.site.root, "test: stress-cpu, floor: 10, unit: ops/s, fleet_band: 5 %")
    other_nodes(accepted_node.site, *others)
    code, certificate = accepted_node.accept(capsys)
    test = next(test for test in certificate["tests"] if test["name"] == "stress-cpu")
    assert (test["verdict"], certificate["verdict"], code) == (verdict, verdict, int(verdict != "PASS"))
    assert said in test["why"]
