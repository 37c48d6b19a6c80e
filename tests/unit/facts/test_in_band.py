"""In-band facts tell an answer from silence, and noise from both."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api import FactBase
from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.apt import InstalledVersions, PackageCandidates
from metalwright.facts.files import FileStates
from metalwright.facts.logins import LoginNames
from metalwright.facts.nftables import Firewall
from metalwright.facts.system import System
from metalwright.facts.systemd import ServiceStates

NOISE = ["Welcome!", "bash: warning: setlocale: LC_ALL: cannot change locale"]
SHOW = """Id=a.service
Type=simple
LoadState=loaded
ActiveState=active
SubState=running
Result=success
NRestarts=2
UnitFileState=enabled
ActiveEnterTimestampMonotonic=40000000

Id=b.service
Type=oneshot
LoadState=loaded
ActiveState=failed
SubState=failed
Result=exit-code
NRestarts=0
UnitFileState=disabled
ActiveEnterTimestampMonotonic=0
Uptime=100.50 90.00""".splitlines()


@pytest.mark.parametrize(
    "fact", [InstalledVersions, PackageCandidates, FileStates, Firewall, ServiceStates, System, LoginNames]
)
@pytest.mark.parametrize("output", [[], NOISE])
def test_no_answer_is_an_error_and_no_default(fact: type[FactBase[Any]], output: list[str]) -> None:
    with pytest.raises(FactProcessError):
        fact().process(output)


def test_installed_versions_leave_out_what_is_removed_or_half_installed() -> None:
    lines = [
        *NOISE,
        "package:containerd|hi |1.6.20~ds1-1+deb12u3",
        "package:chrony|ii |4.3-2+deb12u3",
        "package:gone|rc |1.0-1",
        "package:half|iU |1.0-1",
        "packages-end",
    ]
    found = InstalledVersions().process(lines)
    assert set(found) == {"containerd", "chrony"}
    assert found["containerd"] == {"version": "1.6.20~ds1-1+deb12u3", "is_held": True}


def test_candidates_are_listed_once_and_newest_first() -> None:
    lines = [
        "candidate:containerd | 1.6.20~ds1-1+deb12u3 | http://x ./ Packages",
        "candidate:containerd | 1.6.20~ds1-1+deb12u2 | http://x ./ Packages",
        "candidate:containerd | 1.6.20~ds1-1+deb12u3 | http://y ./ Packages",
        "candidate:  chrony | 4.3-2 | http://x ./ Packages",
        "candidates-end",
    ]
    assert PackageCandidates().process(lines) == {
        "containerd": ("1.6.20~ds1-1+deb12u3", "1.6.20~ds1-1+deb12u2"),
        "chrony": ("4.3-2",),
    }


def test_units_are_told_apart_and_aged() -> None:
    found = ServiceStates().process(NOISE + SHOW)
    assert found == {
        "a.service": {
            "fault": None,
            "is_starting": False,
            "is_finished": False,
            "is_masked": False,
            "is_enabled": True,
            "restarts": 2,
            "active_s": 60.5,
        },
        "b.service": {
            "fault": "failed/failed, result exit-code",
            "is_starting": False,
            "is_finished": False,
            "is_masked": False,
            "is_enabled": False,
            "restarts": 0,
            "active_s": 0.0,
        },
    }


def test_file_states_are_those_of_the_real_tools(tmp_path: Path) -> None:
    there, absent = tmp_path / "a b.conf", tmp_path / "absent"
    there.write_text("hello\n")
    there.chmod(0o640)
    command = FileStates().command(paths=[str(there), str(absent), str(tmp_path)]).get_raw_value()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    found = FileStates().process(NOISE + done.stdout.splitlines())
    assert set(found) == {str(there)}
    assert found[str(there)]["mode"] == "640"
    assert found[str(there)]["sha256"] == "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


@pytest.mark.parametrize(
    ("lines", "stamp"),
    [
        (["uid:0", 'stamp:{"node": "lab-1"}'], {"node": "lab-1"}),
        (["uid:0", "stamp:"], None),
    ],
)
def test_the_system_tells_its_stamp(lines: list[str], stamp: dict[str, str] | None) -> None:
    assert System().process(NOISE + lines) == {"uid": 0, "stamp": stamp}


@pytest.mark.parametrize("stamp", ["{", "[]", '"x"'])
def test_a_broken_stamp_is_an_error(stamp: str) -> None:
    with pytest.raises(FactProcessError):
        System().process(["uid:0", f"stamp:{stamp}"])


def test_accounts_are_those_of_the_real_tools() -> None:
    done = subprocess.run(["sh", "-c", LoginNames().command()], capture_output=True, text=True, check=False)
    assert LoginNames().process(done.stdout.splitlines())["accounts"]["root"] == 0
