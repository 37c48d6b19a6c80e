"""Exact versions, services that really run, and nothing else that listens."""

from __future__ import annotations

from typing import Any

from testinfra.host import Host

from metalwright.acceptance.firewall import probe_answers, probe_command, wrong_ways
from metalwright.acceptance.readings import (
    INPUT_POLICY,
    LOADED_RULES,
    exposed_ports,
    input_policy,
    rules_in_force,
    unit_fault,
)
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
    ranges = [range(first, last + 1) for first, last in check.get("ranges", ())]
    surplus = {port for port in exposed - set(check["allowed"]) if not any(port in item for item in ranges)}
    assert not surplus, f"ports {sorted(surplus)} listen too"


def test_firewall(host: Host, check: dict[str, Any]) -> None:
    """What no rule names does not get in."""
    policy = input_policy(host.check_output(INPUT_POLICY))
    assert policy == check["policy"], f"packets to the node that no rule names: {policy or 'no rules are loaded'}"


def test_firewall_rules(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """The rules in force are those of the file, and the file is the one that was rendered for this node."""
    digest = host.check_output("sha256sum %s", check["path"]).partition(" ")[0]
    assert digest == check["sha256"], f"{check['path']} is not as rendered"
    told = host.run(LOADED_RULES)
    in_force = rules_in_force(told.stdout)
    if told.rc != 0 or in_force is None:
        unknown(f"the node cannot compare its rules with the file: {told.stderr.strip()[:200]}")
    assert in_force, f"the rules in force are not those of {check['path']}"


def test_networks_apart(host: Host, check: dict[str, Any], unknown: Any) -> None:
    """The rules in force are tried with real packets, in a copy: networks of its own with a neighbour on each."""
    done = host.run(probe_command(check), timeout_s=120.0)
    answers = probe_answers(done.stdout)
    if done.rc != 0 or set(answers) != {way["way"] for way in check["ways"]}:
        unknown(f"the copy of the node's networks did not work: {done.stderr.strip()[-200:] or answers}")
    assert not wrong_ways(check, answers), "; ".join(wrong_ways(check, answers))
