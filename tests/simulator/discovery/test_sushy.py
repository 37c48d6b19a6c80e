"""``inspect`` and ``discover`` against sushy-tools, a Redfish service that shares nothing with us."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.discovery.sites import make_site, run_process
from tests.simulator.redfish.conftest import make_certificate
from tests.simulator.sushy_tools import sushy_emulator

from metalwright.model.report import HardwareReport

ADDRESS = "127.85.3.1"


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[int]:
    make_certificate(tmp_path)
    with sushy_emulator(tmp_path, ADDRESS, next(tmp_path.glob("*.pem"))) as port:
        yield port


def test_inspect_reads_its_system_over_tls(secure: int) -> None:
    run = run_process("inspect", f"https://{ADDRESS}:{secure}", "--json")
    assert run.code == 0, run.err
    (report,) = [HardwareReport.model_validate(item) for item in run.json]
    assert report.system.id
    assert report.system.uuid is not None
    assert report.system.power_state in ("On", "Off")


def test_inspect_reads_it_over_http_only_when_told_to(tmp_path: Path) -> None:
    with sushy_emulator(tmp_path, ADDRESS) as port:
        url = f"http://{ADDRESS}:{port}"
        assert run_process("inspect", url).code == 64
        run = run_process("inspect", url, "--json", "--insecure-http")
    assert run.code == 0, run.err
    assert len(json.loads(run.out)) == 1


def test_discover_sweeps_it_and_gives_the_text_for_the_rack_file(secure: int, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    site = make_site(tmp_path / "site", [], secure)
    run = site.run("discover", f"{ADDRESS}/32", "--json", factory="any-secret-will-do")
    assert run.code == 0, run.err
    (unclaimed,) = run.json["unclaimed"]
    assert unclaimed["uuid"] in unclaimed["yaml"]
