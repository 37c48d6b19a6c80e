"""Where a sweep looks, with which login, and what it need not read again; over real TLS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.simulator.discovery.sites import SiteOnDisk, logins_at, machine, make_site, node_of, port_of

from metalwright.simulator.running import RunningService, service_in_thread
from metalwright.simulator.spec import BmcSpec

SWEEP = "127.85.0.0/29"
ONE, TWO = (node_of(machine(n)) for n in (1, 2))
LATER = int(time.time()) + 3600
FACTORY = "factory-secret"


def kea_file(folder: Path, *rows: tuple[str, str, int]) -> str:
    """A Kea lease file of (address, MAC, expiry)."""
    path = folder / "kea-leases4.csv"
    lines = ["address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context"]
    lines += [f"{address},{mac},,3600,{expire},1,0,0,,0," for address, mac, expire in rows]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def sticker_file(folder: Path, *lines: str) -> str:
    path = folder / "stickers.csv"
    path.write_text("\n".join(["serial,mac,user,password", *lines]) + "\n")
    return str(path)


def put_another_makers_login_first(site: SiteOnDisk) -> None:
    config = site.root / "inventory/site.yaml"
    words = YAML().load(config.read_text())
    words["factory_credentials"].insert(0, {"user": "admin", "password": "env:OTHER"})
    YAML().dump(words, config)


@pytest.mark.parametrize("words", [("--leases",), ()])
def test_the_leases_that_hold_are_swept_and_the_file_says_what_it_is(
    words: tuple[str, ...], first: RunningService, tmp_path: Path
) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    rows = ("127.85.0.1", ONE["bmc_mac"], LATER), ("127.85.0.2", "52:54:00:bc:00:02", 1)
    run = site.run("discover", *words, kea_file(tmp_path, *rows), "--json")
    assert (run.code, [item["node"] for item in run.json["claimed"]]) == (0, ["lab-1"])
    assert run.json["claimed"][0]["lease_mac"] == ONE["bmc_mac"]
    assert "Kea lease file: 2 leases, 1 to look at, 1 expired or given back" in run.err
    assert "sweeping 1 address\n" in run.err


def test_the_mac_of_the_lease_stands_in_for_one_that_the_bmc_does_not_tell(
    first: RunningService, tmp_path: Path
) -> None:
    site = make_site(tmp_path, [], port_of(first))
    first.system.faults.set("wrong-answer", method="GET", path="Managers/1/EthernetInterfaces", status=404)
    run = site.run("discover", "--leases", kea_file(tmp_path, ("127.85.0.1", ONE["bmc_mac"], LATER)))
    assert f'bmc_mac: "{ONE["bmc_mac"]}"  # from the DHCP lease' in run.out


def test_a_filler_serial_is_no_identity(tmp_path: Path) -> None:
    spec = machine(1, serial="To be filled by O.E.M.", uuid="00000000-0000-0000-0000-000000000000")
    with service_in_thread(spec, "127.85.0.6") as service:
        site = make_site(tmp_path, [], port_of(service))
        (found,) = site.run("discover", f"127.85.0.6:{port_of(service)}", "--json").json["unclaimed"]
    assert "filled" not in found["yaml"]
    assert "serial:" not in found["yaml"]
    assert "uuid:" not in found["yaml"]
    assert "# two identity keys are needed" in found["yaml"]


def test_the_sticker_password_opens_a_bmc_that_the_lease_names(tmp_path: Path) -> None:
    """Each unit has its own password; only the one of this unit is sent, and it is printed nowhere."""
    bmc = BmcSpec.model_validate({"macs": ("52:54:00:bc:00:01",), "password": FACTORY})
    with service_in_thread(machine(1, bmc=bmc), "127.85.0.6") as service:
        site = make_site(tmp_path, [ONE], port_of(service))
        stickers = sticker_file(
            tmp_path, f"LAB0001X,52-54-00-BC-00-01,admin,{FACTORY}", "LAB0002X,52:54:00:bc:00:02,admin,wrong-secret"
        )
        run = site.run("credentials", "import-stickers", stickers)
        assert (run.code, "2 new, 0 changed, 0 known already" in run.err) == (0, True)
        assert "1 of them belong to no node yet" in run.err
        leases = kea_file(tmp_path, ("127.85.0.6", "52:54:00:bc:00:01", LATER))
        run = site.run("discover", "--leases", leases, "--json", factory="wrong-secret")
        assert [(item["node"], item["login"]) for item in run.json["claimed"]] == [("lab-1", "sticker")]
        assert logins_at(service) == ["LoginSucceeded"]


def test_the_sticker_comes_first_also_where_it_says_what_a_factory_login_says(tmp_path: Path) -> None:
    """A sticker that repeats the maker's default stays before the passwords of other makers."""
    bmc = BmcSpec.model_validate({"macs": ("52:54:00:bc:00:01",), "password": FACTORY})
    with service_in_thread(machine(1, bmc=bmc), "127.85.0.6") as service:
        site = make_site(tmp_path, [ONE], port_of(service))
        put_another_makers_login_first(site)
        site.run(
            "credentials", "import-stickers", sticker_file(tmp_path, f"LAB0001X,52-54-00-BC-00-01,admin,{FACTORY}")
        )
        leases = kea_file(tmp_path, ("127.85.0.6", "52:54:00:bc:00:01", LATER))
        run = site.run("discover", "--leases", leases, "--json", factory=FACTORY, OTHER="wrong-secret")
        assert [(item["node"], item["login"]) for item in run.json["claimed"]] == [("lab-1", "sticker")]
        assert logins_at(service) == ["LoginSucceeded"]


def test_a_login_refused_before_the_claim_is_not_sent_again_after_it(tmp_path: Path) -> None:
    with service_in_thread(machine(1), "127.85.0.6") as service:
        site = make_site(tmp_path, [ONE], port_of(service))
        put_another_makers_login_first(site)
        for _ in range(2):
            run = site.run("discover", f"127.85.0.6:{port_of(service)}", "--fresh", "--json", OTHER="wrong-secret")
            assert [item["node"] for item in run.json["claimed"]] == ["lab-1"]
        assert logins_at(service) == ["LoginRefused", "LoginSucceeded", "LoginSucceeded"]


def test_the_refusals_of_an_unclaimed_bmc_are_cleared_by_its_place(tmp_path: Path) -> None:
    with service_in_thread(machine(1), "127.85.0.6") as service:
        place = f"127.85.0.6:{port_of(service)}"
        site = make_site(tmp_path, [], port_of(service))
        for _ in range(2):
            site.run("discover", place, "--fresh", factory="wrong-secret")
        assert logins_at(service) == ["LoginRefused"]
        assert site.run("credentials", "clear", place).err == f"{place}: 1 refused login forgotten\n"
        site.run("discover", place, "--fresh", factory="wrong-secret")
        assert logins_at(service) == ["LoginRefused", "LoginRefused"]


def test_a_factory_password_that_is_not_there_is_left_out_where_stickers_may_do(tmp_path: Path) -> None:
    bmc = BmcSpec.model_validate({"macs": ("52:54:00:bc:00:01",), "password": FACTORY})
    with service_in_thread(machine(1, bmc=bmc), "127.85.0.6") as service:
        site = make_site(tmp_path, [ONE], port_of(service))
        config = site.root / "inventory/site.yaml"
        config.write_text(config.read_text().replace("env:FACTORY", "env:NOT_SET_HERE"))
        leases = kea_file(tmp_path, ("127.85.0.6", "52:54:00:bc:00:01", LATER))
        run = site.run("discover", "--leases", leases, "--json")
        assert (run.code, logins_at(service)) == (1, [])
        assert "hint: export NOT_SET_HERE" in run.err

        site.run(
            "credentials", "import-stickers", sticker_file(tmp_path, f"LAB0001X,52-54-00-BC-00-01,admin,{FACTORY}")
        )
        run = site.run("discover", "--leases", leases, "--json")
        assert run.code == 0, run.err
        assert [(item["node"], item["login"]) for item in run.json["claimed"]] == [("lab-1", "sticker")]
        assert "left out: the factory login env:NOT_SET_HERE, the environment variable is not set" in run.err
        assert site.run("match", "lab-1").code in (0, 2), "the node's own sticker opens its BMC later as well"


def test_a_bad_sticker_line_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE])
    stickers = sticker_file(tmp_path, f"LAB0001X,,admin,{FACTORY}", f"LAB0002X,52:54:00,admin,{FACTORY}")
    run = site.run("credentials", "import-stickers", stickers)
    assert run.code == 1
    assert f"{stickers}:3" in run.err
    run = site.run("credentials", "import-stickers", sticker_file(tmp_path, f"LAB0001X,,admin,{FACTORY}"))
    assert "1 new, 0 changed, 0 known already" in run.err


def test_a_serial_on_two_machines_claims_neither(first: RunningService, port: int, tmp_path: Path) -> None:
    twin = machine(2, serial="LAB0001X")
    with service_in_thread(twin, "127.85.0.2", port=port):
        site = make_site(tmp_path, [{**ONE, "uuid": None, "identity": ["serial", "bmc_mac"]}], port)
        run = site.run("discover", SWEEP, "--json")
    assert run.json["repeated"] == ["serial lab0001x"]
    (claimed,) = run.json["claimed"]
    assert (claimed["address"], claimed["keys"]) == ("127.85.0.1", ["bmc_mac"])
    (stranger,) = run.json["unclaimed"]
    assert 'serial: "' not in stranger["yaml"]
    assert "# serial LAB0001X is left out: several machines show it" in stranger["yaml"]


def test_what_was_read_lately_is_not_read_again_and_that_is_said(first: RunningService, tmp_path: Path) -> None:
    site = make_site(tmp_path, [ONE], port_of(first))
    assert site.run("discover", SWEEP).code == 0
    logins = len(logins_at(first))
    run = site.run("discover", SWEEP, "--json")
    assert "1 of them were read in the last 10 minutes and are not read again (--fresh reads all)" in run.err
    assert [item["node"] for item in run.json["claimed"]] == ["lab-1"]
    assert run.json["claimed"][0]["read_at"] is not None
    assert len(logins_at(first)) == logins
    run = site.run("discover", SWEEP, "--json", "--fresh")
    assert run.json["claimed"][0]["read_at"] is None
    assert len(logins_at(first)) == logins + 1


def test_a_failure_is_looked_at_again(first: RunningService, tmp_path: Path) -> None:
    first.system.faults.set("wrong-answer", method="GET", path="Systems$", status=400, times=1)
    site = make_site(tmp_path, [ONE], port_of(first))
    assert site.run("discover", SWEEP).code == 1
    run = site.run("discover", SWEEP, "--json")
    assert (run.code, [item["node"] for item in run.json["claimed"]]) == (0, ["lab-1"])


def test_a_sweep_that_was_killed_goes_on_with_the_rest(
    first: RunningService, second: RunningService, tmp_path: Path
) -> None:
    """kill -9 while another BMC is silent: the machine that was read is kept, and not read again."""
    second.system.faults.rule("GET", "", delay_s=40)
    site = make_site(tmp_path, [ONE], port_of(first))
    command = [sys.executable, "-m", "metalwright.cli", "--site", str(tmp_path), "discover", SWEEP]
    environment: dict[str, Any] = {**os.environ, "FACTORY": FACTORY}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "identified" in line:
                break
        child.send_signal(signal.SIGKILL)
        child.communicate(timeout=20)
    second.system.faults.clear()
    path = tmp_path / ".metalwright/sightings.jsonl"
    with path.open("a") as stream:
        stream.write('{"schema": 1, "at": "2026-')  # a line that the kill tore
    logins = len(logins_at(first))
    run = site.run("discover", SWEEP, "--json")
    assert (run.code, [item["node"] for item in run.json["claimed"]]) == (0, ["lab-1"])
    assert len(logins_at(first)) == logins
    assert FACTORY not in path.read_text()
