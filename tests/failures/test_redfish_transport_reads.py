"""Answers to reads that are late, broken, partial or elsewhere: ``inspect`` over one BMC each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.failures.transport_bmcs import AT_ONCE, bmc, command, deploy, inspect, lines_of, problems, report, rule
from tests.operations.redfish.site import PyinfraRun
from tests.simulator.discovery.sites import machine, make_site, node_of, port_of

from metalwright.simulator.running import RunningService

SUPPLIES = "/redfish/v1/Chassis/1/PowerSubsystem/PowerSupplies"
HTML = {"body": "<html>gateway</html>", "content_type": "text/html"}


@pytest.fixture
def service() -> Iterator[RunningService]:
    with bmc() as running:
        yield running


def psus(answer: dict[str, Any]) -> list[str]:
    return [psu["slot"] for psu in answer["psus"]]


@pytest.mark.parametrize("body", ["busy", None, [], ""], ids=["text", "null", "list", "empty"])
def test_rt_07_any_body_of_a_server_error_is_told_alike(service: RunningService, body: Any) -> None:
    """Whatever the body of an error is, the same error tells status, method, URL and the body, shortened."""
    text = '"busy"' if body == "busy" else body
    rule(service, "GET", "Systems/1$", status=500, body=text, headers=AT_ONCE, content_type="application/json")
    run = inspect(service)
    assert run.code == 1
    assert f"GET {service.url}/redfish/v1/Systems" in run.err
    assert "HTTP 500" in run.err
    assert "Traceback" not in run.err
    assert ("busy" in run.err) == (body == "busy")


def test_rt_08_a_gateway_page_is_waited_out(service: RunningService) -> None:
    """A read with a 5xx is repeated within its budget; an HTML page with status 200 is neither data nor repeated."""
    rule(service, "GET", "Chassis$", times=2, status=504, headers=AT_ONCE, **HTML)
    assert psus(report(inspect(service)))
    assert len(service.traffic.of("GET", "/Chassis")) == 3


def test_rt_08_a_login_page_is_not_taken_for_data(service: RunningService) -> None:
    rule(service, "GET", "Systems$", status=200, body="<html>login</html>", content_type="text/html")
    run = inspect(service)
    assert run.code == 1
    assert f"GET {service.url}/redfish/v1/Systems: the list of systems cannot be read" in run.err
    assert "HTTP 200; text/html: login" in run.err
    assert len(service.traffic.of("GET", "/Systems")) == 1


def paged(service: RunningService, second: list[str], link: str | None = None) -> None:
    """Show the power supplies on two pages; ``link`` is the second page's own link to a next one."""
    page = f"{SUPPLIES}?page=2"
    first = [{"at": "/Members", "keep": 1}, {"at": "/Members@odata.nextLink", "set": page}]
    then: list[dict[str, Any]] = [{"at": "/Members", "set": [{"@odata.id": f"{SUPPLIES}/{name}"} for name in second]}]
    rule(service, "GET", "PowerSupplies$", when={"query": "^$"}, edit=first)
    if link is not None:
        then.append({"at": "/Members@odata.nextLink", "set": link})
    rule(service, "GET", "PowerSupplies$", when={"query": "page=2"}, edit=then)


def test_rt_09_all_pages_are_read(service: RunningService) -> None:
    """Pages are followed on the same BMC, a loop ends, counts are compared, embedded members are taken."""
    paged(service, ["PSU2"])
    run = inspect(service)
    assert psus(report(run)) == ["PSU1", "PSU2"]
    assert "PowerSupplies" not in problems(run)


def test_rt_09_a_page_that_links_to_itself_ends_the_walk_and_is_told(service: RunningService) -> None:
    paged(service, [], link=f"{SUPPLIES}?page=2")
    run = inspect(service)
    assert psus(report(run)) == ["PSU1"]
    assert "the pages loop" in problems(run)
    assert len(service.traffic.of("GET", "/PowerSupplies")) == 2


def test_rt_09_a_page_on_another_host_is_not_fetched(service: RunningService) -> None:
    paged(service, ["PSU2"], link="https://other.example/redfish/v1/x")
    run = inspect(service)
    assert psus(report(run)) == ["PSU1", "PSU2"]
    assert "the next page is no link on this BMC: https://other.example" in problems(run)


def test_rt_09_fewer_members_than_announced_are_told(service: RunningService) -> None:
    rule(service, "GET", "PowerSupplies$", edit=[{"at": "/Members", "keep": 1}])
    run = inspect(service)
    assert psus(report(run)) == ["PSU1"]
    assert "the count says 2 members" in problems(run)


def test_rt_09_embedded_members_need_no_further_read(service: RunningService) -> None:
    whole = [
        {"@odata.id": f"{SUPPLIES}/PSU{n}", "Id": f"PSU{n}", "Name": f"PSU{n}", "PowerCapacityWatts": 9} for n in (1, 2)
    ]
    rule(service, "GET", "PowerSupplies$", edit=[{"at": "/Members", "set": whole}])
    assert [psu["watts"] for psu in report(inspect(service))["psus"]] == [9, 9]
    assert service.traffic.of("GET", "PSU1") == []


@dataclass
class ReadByPyinfra:
    """One pyinfra run that reads from several BMCs, and those BMCs."""

    run: PyinfraRun
    whole: RunningService
    looping: RunningService
    busy: RunningService
    lazy: RunningService


@pytest.fixture(scope="module")
def pyinfra(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadByPyinfra]:
    supplies = {"commands": [command("GET", "@chassis/PowerSubsystem/PowerSupplies/*")]}
    system = {"commands": [command("GET", "/redfish/v1/Systems/1")] * 20}
    child = {"commands": [command("GET", "/redfish/v1/Systems/1/BootOptions/Boot0001")]}
    with bmc() as whole, bmc() as looping, bmc() as busy, bmc() as lazy:
        paged(whole, ["PSU2"])
        paged(looping, [], link=f"{SUPPLIES}?page=2")
        rule(busy, "GET", "Systems/1$", every=2, status=503, headers=AT_ONCE)
        rule(lazy, "GET", "Boot0001$", when={"before": {"method": "GET", "path": "BootOptions$"}}, status=404)
        hosts = [(whole, supplies), (looping, supplies), (busy, system), (lazy, child)]
        run = deploy(tmp_path_factory.mktemp("reads"), hosts, "-vvv")
        yield ReadByPyinfra(run, whole, looping, busy, lazy)


def test_rt_09_pyinfra_reads_pages_too_and_tells_what_is_missing(pyinfra: ReadByPyinfra) -> None:
    assert pyinfra.run.code == 0, pyinfra.run.text
    assert '"PSU2"' in lines_of(pyinfra.run, pyinfra.whole)
    assert '"problems": []' in lines_of(pyinfra.run, pyinfra.whole)
    assert "leads back or never ends" in lines_of(pyinfra.run, pyinfra.looping)
    assert len(pyinfra.looping.traffic.of("GET", "/PowerSupplies")) == 2


def test_rt_16_every_read_has_its_own_budget(pyinfra: ReadByPyinfra) -> None:
    """Each request has its own small number of tries, within the deadline of its BMC."""
    answers = [record.status for record in pyinfra.busy.traffic.of("GET", "/Systems/1")]
    assert answers == [503, 200] * 20


def test_rt_18_a_slow_collection_is_slow_and_not_down(tmp_path: Path) -> None:
    """Resources known to be slow have their own, longer time, are asked once, and a site can name more of them."""
    spec = machine(1)
    with bmc() as service:
        rule(service, "GET", "FirmwareInventory$", delay_s=3)
        host = service.url.removeprefix("https://").partition(":")[0]
        site = make_site(tmp_path, [{**node_of(spec), "bmc_address": host}], port_of(service), read_timeout_s=2)
        run = site.run("inspect", "lab-1", "--json")
        assert len(report(run)["firmware"]) == 2
        assert len(service.traffic.of("GET", "FirmwareInventory")) == 1


def test_rt_18_a_site_names_its_own_slow_resources(tmp_path: Path) -> None:
    with bmc() as service:
        rule(service, "GET", "Storage$", delay_s=3)
        host = service.url.removeprefix("https://").partition(":")[0]
        settings = {"read_timeout_s": 2, "slow_paths": {"/Storage": 20}}
        site = make_site(tmp_path, [{**node_of(machine(1)), "bmc_address": host}], port_of(service), **settings)
        assert len(report(site.run("inspect", "lab-1", "--json"))["drives"]) == 1
        assert len(service.traffic.of("GET", "/Storage")) == 1


def test_rt_22_gzip_is_accepted_where_a_bmc_insists(service: RunningService) -> None:
    """After a 406 the read is repeated once with gzip accepted, and so are later ones of this BMC; else never."""
    gzip = {"Accept-Encoding": "gzip"}
    rule(service, "GET", "Managers/1/EthernetInterfaces/1$", when={"header_not": gzip}, status=406)
    rule(service, "GET", "Managers/1/EthernetInterfaces/1$", when={"header": gzip}, gzip=True)
    assert report(inspect(service))["bmc"]["macs"] == ["52:54:00:bc:00:01"]
    refused = next(n for n, record in enumerate(service.traffic.records) if record.status == 406)
    asked = [record.headers["Accept-Encoding"] for record in service.traffic.records]
    assert set(asked[: refused + 1]) == {"identity"}
    assert sum(record.status == 406 for record in service.traffic.records) == 1


@pytest.mark.parametrize(
    ("missing", "status"), [("^/redfish/v1$", 401), ("^/redfish/v1/$", 401), ("^/redfish/v1/$", 404)]
)
def test_rt_25_the_root_is_found_with_or_without_its_slash(service: RunningService, missing: str, status: int) -> None:
    """Both forms of the root's path are tried once and the good one is kept; a 401 there is no wrong password."""
    rule(service, "GET", missing, status=status)
    assert report(inspect(service))["system"]["serial"] == "LAB0001X"
    assert service.traffic.logins == 1
    assert sum(record.path.rstrip("/") == "/redfish/v1" for record in service.traffic.records) <= 2


def test_rt_26_a_missing_child_is_looked_for_behind_its_parent(pyinfra: ReadByPyinfra) -> None:
    """Resources are found along links; a known one that is missing is looked for once behind its parent."""
    assert [record.status for record in pyinfra.lazy.traffic.of("GET", "Boot0001")] == [404, 200]
    assert pyinfra.lazy.system.log.of_kind("ResetRequested") == []


def test_rt_28_members_beside_an_error_are_used_and_the_rest_is_unknown(service: RunningService) -> None:
    """Members that are there are used, the collection is marked partial, and what depends on it is unknown."""
    error = {"code": "Base.1.8.InternalError", "message": "sensor bus is down"}
    rule(service, "GET", "PowerSupplies$", edit=[{"at": "/Members", "keep": 1}, {"at": "/error", "set": error}])
    run = inspect(service)
    assert psus(report(run)) == ["PSU1"]
    assert "sensor bus is down" in problems(run)
    assert "1 different ones are listed" in problems(run)
