"""``discover`` against simulated BMCs, over real TLS."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.simulator.discovery.sites import logins_at, machine, make_site, node_of, port_of

from metalwright.model.rack import Node
from metalwright.simulator.running import RunningService

SWEEP = "127.85.0.0/29"
ONE, TWO, THREE = (node_of(machine(n)) for n in (1, 2, 3))


@contextmanager
def listener(address: str, port: int, behave: Callable[[socket.socket], None]) -> Iterator[None]:
    """Somebody at ``address:port`` who is no BMC: every connection is handed to ``behave``."""
    server = socket.create_server((address, port))
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            held.append(connection)
            behave(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for connection in held:
            connection.close()


def silent(connection: socket.socket) -> None:
    """Accept and say nothing."""


def chatter(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 100)
    connection.close()


def test_machines_are_claimed_unclaimed_and_missing(
    first: RunningService, second: RunningService, tmp_path: Path
) -> None:
    site = make_site(tmp_path, [ONE, THREE], port_of(first))
    run = site.run("discover", SWEEP, "--json")
    assert run.code == 0, run.err
    (claimed,) = run.json["claimed"]
    assert (claimed["node"], claimed["address"], claimed["port"]) == ("lab-1", "127.85.0.1", port_of(first))
    assert claimed["keys"] == ["serial", "uuid", "bmc_mac"]
    assert claimed["pinned_now"] is True
    assert "lab-1: certificate sha256:" in run.err
    assert [item["serial"] for item in run.json["unclaimed"]] == ["LAB0002X"]
    assert [item["node"] for item in run.json["missing"]] == ["lab-3"]
    assert first.bmc.gate.sessions == {}
    assert second.bmc.gate.sessions == {}


def test_a_node_is_missing_only_where_it_was_looked_for(
    first: RunningService, second: RunningService, tmp_path: Path
) -> None:
    here, elsewhere = "127.85.0.1", "127.85.9.1"
    nodes = [{**ONE, "bmc_address": here}, {**THREE, "bmc_address": elsewhere}]
    site = make_site(tmp_path, nodes, port_of(first))
    alone = site.run("discover", here, "--json").json
    assert [item["node"] for item in alone["claimed"]] == ["lab-1"]
    assert (alone["missing"], alone["not_swept"]) == ([], ["lab-3"])
    shown = site.run("discover", here, "--fresh").out
    assert "missing:" not in shown
    assert "not looked for: 1 node whose address was not swept (lab-3)" in shown
    both = site.run("discover", here, elsewhere, "--json").json
    assert ([item["node"] for item in both["missing"]], both["not_swept"]) == (["lab-3"], [])
    never_seen = site.run("discover", f"{here}/32", "--json").json
    assert [item["node"] for item in never_seen["missing"]] == ["lab-3"]


def test_the_yaml_of_an_unclaimed_machine_claims_it_when_pasted(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [], port_of(first))
    (unclaimed,) = site.run("discover", SWEEP, "--json").json["unclaimed"]
    (entry,) = YAML(typ="safe").load(unclaimed["yaml"])
    assert entry["blueprint"] == "lab-vm@1.0.0"
    node = Node.model_validate({**entry, "name": "lab-1"})
    assert node.identity == ("serial", "uuid", "bmc_mac")
    site = make_site(tmp_path, [{**entry, "name": "lab-1"}], port_of(first))
    run = site.run("discover", SWEEP)
    assert "lab-1" in run.out
    assert "unclaimed" not in run.out


def test_the_address_is_remembered_for_other_commands(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], 1)
    assert "metalwright discover" in site.run("match", "lab-1").err
    assert site.run("discover", f"127.85.0.1:{port_of(first)}").code == 0
    run = site.run("match", "lab-1", "--json")
    assert (run.code, run.json["nodes"][0]["verdict"]) == (0, "PASS"), run.out


def test_a_claimed_node_says_so_in_its_status(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], 1)
    assert [node["state"] for node in site.run("status", "--json").json["nodes"]] == ["planned"]
    assert site.run("discover", f"127.85.0.1:{port_of(first)}").code == 0
    assert [node["state"] for node in site.run("status", "--json").json["nodes"]] == ["claimed"]


def test_a_file_of_targets_is_read_with_its_comments(first: RunningService, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"# row a\n\n127.85.0.1:{port_of(first)}  # lab-1\n")
    run = make_site(tmp_path, [ONE]).run("discover", str(hosts), "--json")
    assert [item["node"] for item in run.json["claimed"]] == ["lab-1"]


def test_rt_19_one_silent_bmc_delays_nobody(first: RunningService, second: RunningService, tmp_path: Path) -> None:
    """Each BMC has its own deadline; the others finish, and the silent one is listed with exit code 1."""
    site = make_site(tmp_path, [ONE, TWO], port_of(first))
    with listener("127.85.0.3", port_of(first), silent):
        begun = time.monotonic()
        run = site.run("discover", SWEEP, "--host-deadline", "3", "--json")
    assert time.monotonic() - begun < 15
    assert run.code == 1
    assert sorted(item["node"] for item in run.json["claimed"]) == ["lab-1", "lab-2"]
    assert [(item["address"], item["outcome"]) for item in run.json["failed"]] == [("127.85.0.3", "deadline")]


def test_somebody_who_is_no_bmc_is_told_and_disturbs_nobody(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    with listener("127.85.0.3", port_of(first), chatter):
        run = site.run("discover", SWEEP, "--json")
    assert [item["node"] for item in run.json["claimed"]] == ["lab-1"]
    assert "127.85.0.3" in {item["address"] for item in run.json["failed"] + run.json["others"]}


def test_a_slow_bmc_is_cut_off_at_its_own_deadline(
    first: RunningService, second: RunningService, tmp_path: Path
) -> None:
    second.system.faults.set("slow", seconds=30)
    site = make_site(tmp_path, [ONE, TWO], port_of(first))
    run = site.run("discover", SWEEP, "--host-deadline", "3", "--json")
    assert [item["node"] for item in run.json["claimed"]] == ["lab-1"]
    assert [(item["address"], item["outcome"]) for item in run.json["failed"]] == [("127.85.0.2", "deadline")]


def test_a_wrong_password_is_sent_exactly_once_and_never_again(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    for _ in range(3):
        run = site.run("discover", SWEEP, "--json", factory="wrong-secret")
        assert run.code == 1
        assert [item["outcome"] for item in run.json["failed"]] == ["login-refused"]
    assert logins_at(first) == ["LoginRefused"]


def test_a_login_of_the_environment_goes_only_where_somebody_points(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    environment = {"METALWRIGHT_BMC_USER": "admin", "METALWRIGHT_BMC_PASSWORD": "factory-secret"}
    site.run("discover", SWEEP, factory="wrong-secret", **environment)
    assert logins_at(first) == ["LoginRefused"]
    run = site.run("discover", f"127.85.0.1:{port_of(first)}", "--json", factory="wrong-secret", **environment)
    assert [item["login"] for item in run.json["claimed"]] == ["environment"]
    assert logins_at(first) == ["LoginRefused", "LoginSucceeded"]


def test_a_changed_certificate_is_said_and_nothing_is_recorded(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    assert site.run("discover", SWEEP).code == 0
    site.run("match", "lab-1")
    renew(first)
    run = site.run("discover", SWEEP, "--json", "--fresh")
    assert run.code == 1
    assert "another certificate than the pinned one" in run.json["claimed"][0]["error"]
    logins = len(logins_at(first))
    refused = site.run("inspect", "lab-1")
    assert refused.code == 1
    assert "certificate" in refused.err
    assert len(logins_at(first)) == logins


def renew(service: RunningService) -> None:
    """Give the BMC a new certificate."""
    asyncio.run(service.endpoint.renew_certificate())


def test_two_machines_with_one_serial_are_a_conflict(
    first: RunningService, second: RunningService, tmp_path: Path
) -> None:
    confused = {**ONE, "bmc_mac": TWO["bmc_mac"]}
    run = make_site(tmp_path, [confused], port_of(first)).run("discover", SWEEP, "--json")
    assert run.code == 1
    assert run.json["claimed"] == []
    assert {item["why"] for item in run.json["conflicts"]} == {"identity keys contradict each other"}


def test_a_named_host_without_bmc_is_a_failure_and_an_empty_prefix_is_not(tmp_path: Path) -> None:
    site = make_site(tmp_path, [])
    assert site.run("discover", "127.85.9.0/29", "--port", "9").code == 0
    run = site.run("discover", "127.85.9.1:9", "--json")
    assert (run.code, run.json["failed"][0]["outcome"]) == (1, "nothing")
    assert run.json["failed"][0]["error"] == "Connection refused"
    assert "no address is known for this name" in site.run("discover", "bmc.invalid:9").out


@pytest.mark.parametrize("word", ["10.0.0.0/8", "http://127.85.0.1", "not a host", "127.85.0.0/33"])
def test_what_cannot_be_swept_is_wrong_usage(word: str, tmp_path: Path) -> None:
    assert make_site(tmp_path, []).run("discover", word).code == 64


def test_ctrl_c_keeps_what_was_found(first: RunningService, second: RunningService, tmp_path: Path) -> None:
    second.system.faults.rule("GET", "", delay_s=40)
    site = make_site(tmp_path, [ONE], port_of(first))
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(tmp_path), "discover", SWEEP]
    environment: dict[str, Any] = {**os.environ, "FACTORY": "factory-secret"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "identified" in line:
                break
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert child.returncode == 130, err
    assert "lab-1" in out
    assert "interrupted" in err
    assert site.run("inspect", "lab-1").code == 0
