"""What a machine looks like before something is done to it: power, boot, sensors, logs, console. Reads only.

Only resources of the standard are read, by their links; nothing below ``Oem`` is. One BMC is known to restart its host
when a maker's own resource is read (openshift/installer #4963): where the time of the last reset moves while this
reads, that is told, and the platform is read no further from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from metalwright.errors import BmcAnswerError, BmcRefusedError, RedfishError
from metalwright.redfish.adaptations import merged, platform_of
from metalwright.redfish.console_log import read_console_tail
from metalwright.redfish.event_logs import read_event_log
from metalwright.redfish.links import find
from metalwright.redfish.state import BmcState
from metalwright.redfish.walking import Topology
from metalwright.redfish.wire import Exchange

ENTRIES = 200
"""Newest entries of each log that are kept."""

BUDGET_S = 30.0
"""No further resource is read after so many seconds: evidence must not hold up what it is collected for."""

SENSORS = (
    "@chassis/Thermal",
    "@chassis/ThermalSubsystem/ThermalMetrics",
    "@chassis/Power",
    "@chassis/EnvironmentMetrics",
)
NO_READS = "evidence-"
"""The form that is learned where reading restarted the host."""


def read_evidence(state: BmcState, topology: Topology) -> Exchange[dict[str, Any]]:
    """Return ``system`` (power, boot, POST codes, health), ``sensors``, ``log`` and ``console``, and ``problems``.

    ``console`` is the tail of the serial console, None where the BMC keeps none: ``problems`` says so in words.

    Raises a RedfishError only where the system itself cannot be read.
    """
    begun = state.clock()
    system = yield from find(state, topology, "@system")
    before = system.value
    problems: list[str] = []
    evidence: dict[str, Any] = {"system": summary_of(before), "sensors": [], "log": [], "console": None}
    evidence["problems"] = problems
    platform = platform_of(state.root or {}, state.key)
    if NO_READS in state.forms.recall(platform):
        problems.append("sensors and logs are not read: doing so restarted a host of this platform")
        return evidence
    evidence["sensors"] = yield from _sensors(state, topology, begun)
    evidence["log"] = yield from _log(state, topology, begun, problems)
    evidence["console"] = yield from read_console_tail(state, topology, system, problems, begun + BUDGET_S)
    after = (yield from find(state, topology, "@system")).value
    if _was_reset(before, after):
        paths = ", ".join(sorted(state.paths_read))
        problems.append(f"the host was reset while this was read; one of these did it: {paths}")
        state.forms.keep(platform, merged(state.forms.recall(platform), [NO_READS]))
    return evidence


def _sensors(state: BmcState, topology: Topology, begun: float) -> Exchange[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []
    for expression in SENSORS:
        if state.clock() - begun > BUDGET_S:
            break
        try:
            found += list(readings_of((yield from find(state, topology, expression)).value))
        except (BmcAnswerError, BmcRefusedError):
            continue  # not offered
        except RedfishError:
            break
    return found


def _log(state: BmcState, topology: Topology, begun: float, problems: list[str]) -> Exchange[list[dict[str, Any]]]:
    entries: list[dict[str, Any]] = []
    try:
        found = (yield from find(state, topology, "@event-logs")).value
        problems += found["problems"]
        for log in found["logs"]:
            if state.clock() - begun > BUDGET_S:
                problems.append(f"{log['name']}: not read, the time for evidence was used up")
                continue
            read = yield from read_event_log(state, log["name"], log["entries_uri"], ENTRIES, problems)
            entries += [asdict(entry) for entry in read]
    except RedfishError as error:
        problems.append(f"event log: {error.what}")
    return entries


def summary_of(system: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ComputerSystem says about its power, boot and health."""
    progress, boot = system.get("BootProgress"), system.get("Boot")
    return {
        "uri": system.get("@odata.id"),
        "power": system.get("PowerState"),
        "last_reset": system.get("LastResetTime"),
        "boot_progress": progress if isinstance(progress, Mapping) else None,
        "boot_override": {
            key: value for key, value in boot.items() if str(key).startswith("BootSourceOverride") and "@" not in key
        }
        if isinstance(boot, Mapping)
        else None,
        "post": dict(_post_codes(system.get("Oem"))),
        "status": system.get("Status"),
    }


def _post_codes(value: Any, depth: int = 3) -> Iterator[tuple[str, Any]]:
    """Yield what a maker tells about the POST inside the system resource itself, such as HPE's ``PostState``."""
    if not isinstance(value, Mapping) or depth == 0:
        return
    for key, item in value.items():
        if "post" in str(key).lower() and isinstance(item, str | int):
            yield str(key), item
        yield from _post_codes(item, depth - 1)


def readings_of(body: Any) -> Iterator[dict[str, Any]]:
    """Yield name, reading, unit and health of every sensor in a Thermal, Power or EnvironmentMetrics resource."""
    if not isinstance(body, Mapping):
        return
    for group in body.values():
        for item in group if isinstance(group, list) else [group]:
            if not isinstance(item, Mapping):
                continue
            for key, unit in _READINGS.items():
                if item.get(key) is not None:
                    status = item.get("Status")
                    health = status.get("Health") if isinstance(status, Mapping) else None
                    name = (
                        item.get("Name") or item.get("DeviceName") or item.get("MemberId") or item.get("DataSourceUri")
                    )
                    yield {"name": name, "reading": item[key], "unit": unit, "health": health}
                    break


_NAMES = ("Name", "DeviceName", "MemberId", "DataSourceUri")
_READINGS = {"ReadingCelsius": "Cel", "ReadingVolts": "V", "PowerConsumedWatts": "W", "PowerOutputWatts": "W"}
_READINGS |= {"Reading": ""}


def _was_reset(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    then, now = before.get("LastResetTime"), after.get("LastResetTime")
    return then is not None and now is not None and then != now
