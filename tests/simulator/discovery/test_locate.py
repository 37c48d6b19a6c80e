"""``locate``: the light of the right machine, whichever property the BMC has, read back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.simulator.discovery.sites import SiteOnDisk, machine, make_site, node_of, port_of

from metalwright.simulator.running import RunningService, service_in_thread

SYSTEM, CHASSIS = "Systems/1$", "Chassis/1$"


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with service_in_thread(machine(1), "127.94.2.1") as running:
        yield running


@pytest.fixture
def site(service: RunningService, tmp_path: Path) -> SiteOnDisk:
    service.system.faults.clear()
    service.system.state.is_located = False
    return make_site(tmp_path, [node_of(machine(1), unit=7, bmc_address="127.94.2.1")], port_of(service))


def test_the_light_goes_on_and_off_and_says_where_the_server_is(site: SiteOnDisk, service: RunningService) -> None:
    run = site.run("locate", "lab-1")
    assert (run.code, run.out) == (0, "lab-1 (rack r1, unit 7): the light is on (LocationIndicatorActive: True)\n")
    assert service.system.state.is_located is True
    run = site.run("locate", "lab-1", "--off", "--json")
    assert (run.code, run.json["lit"]) == (0, False)
    assert service.system.state.is_located is False


def test_an_old_bmc_has_a_led_and_may_only_know_lit(site: SiteOnDisk, service: RunningService) -> None:
    """IndicatorLED at the chassis alone, and Blinking refused: Lit does as well."""
    rule = service.system.faults.rule
    rule("GET", SYSTEM, edit=[{"at": "/LocationIndicatorActive", "drop": True}])
    two_patches = {"method": "PATCH", "path": CHASSIS, "count": 2}
    for when, value in (("before", "Off"), ("after", "Lit")):
        rule("GET", CHASSIS, when={when: two_patches}, edit=[{"at": "/IndicatorLED", "set": value}])
    rule("PATCH", CHASSIS, when={"body": "Blinking"}, status=400, message="Base.1.8.PropertyValueNotInList")
    rule("PATCH", CHASSIS, when={"body": "Lit"}, status=204, body="")
    run = site.run("locate", "lab-1", "--json")
    assert run.code == 0, run.err
    assert (run.json["uri"], run.json["IndicatorLED"]) == ("/redfish/v1/Chassis/1", "Lit")


def test_a_light_that_is_taken_and_not_shown_is_an_error(site: SiteOnDisk, service: RunningService) -> None:
    service.system.faults.rule("PATCH", SYSTEM, status=204, body="")
    run = site.run("locate", "lab-1")
    assert run.code == 1
    assert "took the change of the light and does not show it" in run.err


def test_a_bmc_without_light_says_what_else_helps(site: SiteOnDisk, service: RunningService) -> None:
    service.system.faults.rule("GET", SYSTEM, edit=[{"at": "/LocationIndicatorActive", "drop": True}])
    run = site.run("locate", "lab-1")
    assert run.code == 1
    assert "the BMC offers no light" in run.err
    assert "hint: look for the sticker" in run.err


def test_the_light_of_another_machine_is_left_alone(service: RunningService, tmp_path: Path) -> None:
    service.system.faults.clear()
    service.system.state.is_located = False
    site = make_site(tmp_path, [node_of(machine(1), serial="OTHER1X", bmc_address="127.94.2.1")], port_of(service))
    run = site.run("locate", "lab-1")
    assert run.code == 1
    assert "another machine answers at this address; its light was left alone" in run.err
    assert service.system.state.is_located is False
