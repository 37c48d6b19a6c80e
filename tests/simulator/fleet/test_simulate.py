"""``metalwright simulate`` as a person and a program use it: a ready line, a control port, a clean end."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metalwright.cli.app import run
from metalwright.simulator.profiles import NAMES

_READY = re.compile(r"ready: (\d+) BMCs at https://([\d.]+):(\d+) … ([\d.]+), control http://127\.0\.0\.1:(\d+)$")


class Running:
    def __init__(self, process: subprocess.Popen[str], ready: str) -> None:
        self.process = process
        found = re.search(
            r"ready: (\d+) BMCs at https://([\d.]+):(\d+) … ([\d.]+), control http://127\.0\.0\.1:(\d+)", ready
        )
        assert found is not None, ready
        self.count, self.first, self.port, self.last, self.control = (
            int(found[1]), found[2], int(found[3]), found[4], int(found[5]),
        )  # fmt: skip

    def control_port(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        line = http.client.HTTPConnection("127.0.0.1", self.control, timeout=20)
        line.request(method, path, json.dumps(body) if body is not None else None)
        answer = line.getresponse()
        found = answer.status, json.loads(answer.read())
        line.close()
        return found

    def get(self, address: str, path: str) -> tuple[int, bytes]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        line = http.client.HTTPSConnection(address, self.port, context=context, timeout=20)
        try:
            line.request("GET", path)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()


@contextlib.contextmanager
def simulate(*arguments: str) -> Iterator[Running]:
    command = [sys.executable, "-m", "metalwright.cli", "simulate", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Running(process, process.stdout.readline())
        finally:
            if process.poll() is None:
                process.kill()


def test_it_serves_many_bmcs_and_ends_cleanly_at_sigterm(tmp_path: Path) -> None:
    faults = tmp_path / "faults.yaml"
    faults.write_text(
        "- bmcs: [2]\n  faults:\n"
        "  - {name: rule, path: redfish/v1$, do: {status: 503}}\n"
        "  - {name: rule, path: /v9$, do: {status: 503}}\n"
    )
    profiles = ["--profile", "cpu-node-hpe:3", "--profile", "power-shelf-delta"]
    with simulate("--prefix", "127.91.32.0/28", "--count", "6", *profiles, "--faults", str(faults)) as fleet:
        assert (fleet.count, fleet.first, fleet.last) == (6, "127.91.32.1", "127.91.32.6")
        assert fleet.get(fleet.first, "/redfish/v1")[0] == 200
        assert fleet.get("127.91.32.2", "/redfish/v1")[0] == 503
        with pytest.raises(ConnectionRefusedError):
            fleet.get("127.91.32.9", "/redfish/v1")
        status, bmcs = fleet.control_port("GET", "/bmcs")
        assert (status, [bmc["kind"] for bmc in bmcs].count("cpu-node-hpe")) == (200, 3)
        assert bmcs[0]["requests"] == 1
        fleet.process.send_signal(signal.SIGTERM)
        assert fleet.process.wait(20) == 0
        assert fleet.process.stderr is not None
        assert re.findall("warning: .*", fleet.process.stderr.read()) == [
            f"warning: {faults}: 0.faults.1: rule: path '/v9$' matches no URI of power-shelf-delta"
        ]


def test_the_control_port_watches_and_misleads(tmp_path: Path) -> None:
    capture = tmp_path / "box.json"
    root = {"@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot", "Id": "R", "Name": "box"}
    capture.write_text(json.dumps({"/redfish/v1": root}))
    with simulate("--prefix", "127.91.32.16/28", "--count", "2", "--capture", str(tmp_path)) as fleet:
        path = f"/bmcs/{fleet.first}"
        assert json.loads(fleet.get(fleet.first, "/redfish/v1/")[1])["Name"] == "box"
        fault = {"name": "rule", "path": "redfish", "do": {"edit": [{"at": "/Name", "set": "bent"}]}}
        assert fleet.control_port("POST", f"{path}/faults", fault) == (200, {})
        assert json.loads(fleet.get(fleet.first, "/redfish/v1/")[1])["Name"] == "bent"
        assert fleet.control_port("GET", f"{path}/faults")[1] == [fault]
        assert fleet.control_port("DELETE", "/bmcs/all/faults") == (200, {})
        assert json.loads(fleet.get(fleet.first, "/redfish/v1/")[1])["Name"] == "box"
        assert fleet.control_port("GET", f"{path}/counters")[1]["paths"] == {"GET /redfish/v1/": 3}
        assert [record["faults"] for record in fleet.control_port("GET", f"{path}/requests")[1]] == [[], ["rule"], []]
        assert [event["kind"] for event in fleet.control_port("GET", f"{path}/log")[1]] == ["FaultSet"]
        assert fleet.control_port("GET", path)[1]["power"] == "Off"
        assert fleet.control_port("GET", "/counters")[1]["requests"] == 3
        assert fleet.control_port("GET", "/bmcs/127.0.0.99")[0] == 404
        assert fleet.control_port("POST", f"{path}/faults", {"name": "gremlins"})[0] == 400
        assert fleet.control_port("POST", f"{path}/faults", {"name": "rule", "path": "("})[0] == 400
        missed = fleet.control_port("POST", f"{path}/faults", {"name": "rule", "path": "Systems", "do": {"gzip": True}})
        assert missed == (200, {"warnings": ["rule: path 'Systems' matches no URI of box"]})
        fleet.process.send_signal(signal.SIGINT)
        assert fleet.process.wait(20) == 0


def test_the_profiles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--list"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == list(NAMES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--profile", "abacus"], "no such profile"),
        (["--profile", "cpu-node-hpe:x"], "no number"),
        (["--profile", "cpu-node-hpe:0"], "no number"),
        (["--profile", "cpu-node-hpe", "--capture", "x"], "instead of profiles"),
        (["--prefix", "10.0.0.0/24"], "loopback"),
        (["--when-busy", "cry"], "busy"),
        (["--faults", "nowhere.yaml"], "fault file"),
        (["--capture", "nowhere"], "capture"),
    ],
)
def test_wrong_use_is_explained(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *arguments]) == 1
    assert message in capsys.readouterr().err
