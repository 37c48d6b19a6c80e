"""Packages end at the pinned version, or the host fails saying why."""

from __future__ import annotations

from typing import Any

import pytest
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.errors import DeployError
from metalwright.operations.apt import pinned

PIN = {"name": "containerd", "version": "1.6.20", "unit": "containerd.service"}
OFFERED = {"containerd": ("1.6.20~ds1-1+deb12u3", "1.6.20~ds1-1+deb12u2")}


def installed(version: str, is_held: bool = True) -> dict[str, Any]:
    return {"containerd": {"version": version, "is_held": is_held}}


def run(before: dict[str, Any], offered: dict[str, Any] = OFFERED, **more: Any) -> tuple[list[Any], list[str]]:
    facts = {"InstalledVersions": before, "PackageCandidates": offered}
    return commands_of(pinned, facts, pins=[PIN], **more)


@pytest.mark.parametrize("version", ["1.6.20~ds1-1+deb12u3", "1.6.20~ds1-1+deb12u2"])
def test_the_pinned_version_on_hold_needs_nothing(version: str) -> None:
    assert run(installed(version)) == ([], ["all packages are at their versions and held"])


def test_the_pinned_version_without_a_hold_is_only_held() -> None:
    assert run(installed("1.6.20~ds1-1+deb12u3", is_held=False))[0] == ["apt-mark hold containerd"]


def test_an_absent_package_is_installed_held_and_read_back() -> None:
    (update, install, read_back, hold), _ = run({})
    assert "apt-get" in update
    assert "Error-Mode=any update" in update
    assert install.endswith("install 'containerd=1.6.20~ds1-1+deb12u3'")
    assert "--option DPkg::Lock::Timeout=300" in install
    assert "--allow-downgrades" not in install
    assert read_back.endswith("= 'installed 1.6.20~ds1-1+deb12u3'")
    assert hold == "apt-mark hold containerd"


def test_locks_are_waited_for_and_never_removed() -> None:
    commands, _ = run({}, lock_timeout_s=20)
    assert "[ $waited_s -lt 20 ] || exit 100" in commands[0]
    assert not any("rm " in command or "kill" in command for command in commands)


def test_a_newer_version_is_refused_on_the_node_without_leave_to_downgrade() -> None:
    commands, _ = run(installed("1.7.1-1"))
    assert commands[1].startswith("dpkg --compare-versions 1.7.1-1 lt '1.6.20~ds1-1+deb12u3' || { echo")
    assert "allow_downgrade" in commands[1]


def test_a_declared_downgrade_is_done() -> None:
    commands, _ = run(installed("1.7.1-1"), allow_downgrade=True)
    assert len(commands) == 4
    assert "--allow-downgrades" in commands[1]
    assert "--allow-change-held-packages" in commands[1]


def test_no_such_version_fails_the_host_and_lists_what_there_is() -> None:
    commands, _ = run({}, {"containerd": ("1.7.1-1", "1.6.2-1")})
    failing = commands[1]
    with pytest.raises(DeployError) as caught:
        run_function(failing, {})
    assert str(caught.value).startswith("lab-1: no source offers containerd 1.6.20\n")
    assert caught.value.found == "1.7.1-1, 1.6.2-1"
    assert not any("install" in str(command) for command in commands[2:])


def test_packages_of_any_version_are_installed_when_absent() -> None:
    facts: dict[str, Any] = {"InstalledVersions": {}, "PackageCandidates": {}}
    commands, _ = commands_of(pinned, facts, pins=[], present=["chrony"])
    assert len(commands) == 2
    assert commands[1].endswith("install chrony")
    facts = {"InstalledVersions": {"chrony": {"version": "4.3-2", "is_held": False}}, "PackageCandidates": {}}
    assert commands_of(pinned, facts, pins=[], present=["chrony"])[0] == []


def test_several_packages_are_installed_at_once() -> None:
    other = {"name": "prometheus-node-exporter", "version": "1.5.0", "unit": "x"}
    offered = OFFERED | {"prometheus-node-exporter": ("1.5.0-1+b6",)}
    facts = {"InstalledVersions": {}, "PackageCandidates": offered}
    commands, _ = commands_of(pinned, facts, pins=[PIN, other])
    assert sum("--allow-change-held-packages" in command for command in commands) == 1
    assert commands[-1] == "apt-mark hold containerd prometheus-node-exporter"
