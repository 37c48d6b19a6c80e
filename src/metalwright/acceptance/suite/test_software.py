"""Exact versions, services that really run, and nothing else that listens."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.readings import INPUT_POLICY, exposed_ports, input_policy, unit_fault
from metalwright.model.package import PackagePin


def test_package(host: Host, check: dict[str, Any]) -> None:
    """Installed at exactly the pinned version, and held there."""
    pin = PackagePin.model_validate({key: value for key, value in check.items() if key != "id"})
    found = host.run("dpkg-query --show --showformat '${db:Status-Abbrev}|${Version}' %s", pin.name)
    assert found.rc == 0, f"{pin.name} is not installed"
    status, _, version = found.stdout.partition("|")
    assert status[1:2] == "i", f"{pin.name} is not fully installed (dpkg state {status!r})"
    assert status[:1] == "h", f"{pin.name} is not held"
    assert pin.is_met_by(version), f"{pin.name} is {version}, the blueprint pins {pin.version}"


def test_service(host: Host, check: dict[str, Any]) -> None:
    """Judged by state, sub-state and result together, by the type of the unit."""
    properties = "Id,LoadState,Type,RemainAfterExit,ActiveState,SubState,Result,NRestarts"
    fault = unit_fault(host.check_output("systemctl show --property %s %s", properties, check["unit"]))
    assert fault is None, f"{check['unit']}: {fault}"


def test_ports(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """Only the allowed TCP ports listen on addresses that others can reach."""
    exposed = exposed_ports(host.check_output("ss --no-header --numeric --listening --tcp"))
    if not exposed:
        unknown("ss lists no port at all, not even the one of this login")
    assert exposed <= set(check["allowed"]), f"ports {sorted(exposed - set(check['allowed']))} listen too"


def test_firewall(host: Host, check: dict[str, Any]) -> None:
    """What no rule names does not get in."""
    policy = input_policy(host.check_output(INPUT_POLICY))
    assert policy == check["policy"], f"packets to the node that no rule names: {policy or 'no rules are loaded'}"
