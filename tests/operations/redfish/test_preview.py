"""What ``--dry --diff`` shows is what is written, for the operations whose own tests do not compare it.

The others: accounts, protocols, syslog, lockdown in tests/failures/test_accounts.py; BIOS attributes in test_bios.py;
firmware in test_firmware.py; power, boot, media, image and certificate in theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.operations.redfish.bench import Bench
from tests.operations.redfish.site import lab_site

from metalwright.operations.redfish import event_logs, manager, power

NTP = ["10.0.0.7", "10.0.0.8"]
ADDRESS, GATEWAY = "127.158.64.77", "127.158.64.1"
STATIC = {"address": ADDRESS, "prefix": "127.158.64.0/24", "gateway": GATEWAY}
MOVED = {"Address": ADDRESS, "SubnetMask": "255.255.255.0", "Gateway": GATEWAY}
CYCLED = ["power: On → Off, then On again", "power: On → Off (ForceOff)"]
CASES: list[tuple[Any, dict[str, Any], list[str], list[Any]]] = [
    (power.reset, {}, ["power: On → On (ForceRestart)"], [{"ResetType": "ForceRestart"}]),
    (power.restart, {}, CYCLED, [{"ResetType": "ForceOff"}, {"ResetType": "On"}]),
    (event_logs.cleared, {}, ["event log Log: n entries → cleared"], [{}]),
    (
        *(manager.clock, {"servers": NTP}, ["NTP: off → 10.0.0.7, 10.0.0.8"]),
        [{"NTP": {"ProtocolEnabled": True, "NTPServers": NTP}}],
    ),
    (
        *(manager.address, STATIC, [f"BMC address: 127.158.1.1 → {ADDRESS}", "DHCP: on → off"]),
        [{"DHCPv4": {"DHCPEnabled": False}, "IPv4StaticAddresses": [MOVED]}],
    ),
]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with lab_site(tmp_path / "site", 1, 1, prefix="127.158") as site:
        yield Bench(site)


@pytest.mark.parametrize(("operation", "arguments", "lines", "bodies"), CASES)
def test_a_preview_writes_nothing_and_shows_what_the_run_then_writes(
    operation: Any, arguments: dict[str, Any], lines: list[str], bodies: list[Any], bench: Bench
) -> None:
    assert bench.run(power.state, wanted="On").is_ok
    bench.system.faults.set("address-ignored")
    bench.forget()
    assert [re.sub(r"\d+ entries", "n entries", line) for line in bench.preview(operation, **arguments)] == lines
    assert bench.writes() == []
    done = bench.run(operation, **arguments)
    assert done.is_ok, done.text
    assert [record.body for record in bench.seen() if record.method != "GET"] == bodies


def test_a_restart_that_nothing_would_prove_is_shown_as_off_and_on(bench: Bench) -> None:
    assert bench.run(power.state, wanted="On").is_ok
    bench.rule("GET", "Systems/1$", edit=[{"at": at, "drop": True} for at in ("/LastResetTime", "/BootProgress")])
    assert bench.preview(power.reset) == CYCLED
