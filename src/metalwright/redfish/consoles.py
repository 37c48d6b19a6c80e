"""How a person reaches the serial console of a host: what the BMC offers, as commands to paste. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

PORTS = {"SSH": 22, "IPMI": 623, "Telnet": 23}


@dataclass(frozen=True, slots=True)
class ConsoleWay:
    """One way in. ``then`` is what is typed after the login, ``leave`` the keys that end it; empty: not told."""

    kind: str
    command: str
    then: str = ""
    leave: str = ""
    note: str = ""


def console_ways(system: Mapping[str, Any], manager: Mapping[str, Any], address: str, user: str) -> list[ConsoleWay]:
    """Return the ways that are switched on, best first: SSH, then IPMI; of the system, then of the manager."""
    ways = [*_of_system(_object(system.get("SerialConsole")), address, user)]
    kinds = {way.kind for way in ways}
    for name in ("SerialConsole", "CommandShell"):
        for way in _of_manager(_object(manager.get(name)), name, address, user):
            if way.kind not in kinds:
                ways.append(way)
                kinds.add(way.kind)
    return sorted(ways, key=lambda way: way.kind != "SSH")


def _of_system(console: Mapping[str, Any], address: str, user: str) -> Iterator[ConsoleWay]:
    for kind in ("SSH", "IPMI", "Telnet"):
        service = _object(console.get(kind))
        if service.get("ServiceEnabled") is not True:
            continue
        shared = "the console is behind the shell of the BMC" if service.get("SharedWithManagerCLI") else ""
        yield ConsoleWay(
            kind,
            _command(kind, address, _port(service, kind), user),
            then=str(service.get("ConsoleEntryCommand") or ""),
            leave=str(service.get("HotKeySequenceDisplay") or ""),
            note=shared,
        )


_SHELL_NOTE = "the BMC's own shell; its manual tells the command for the console"


def _of_manager(console: Mapping[str, Any], name: str, address: str, user: str) -> Iterator[ConsoleWay]:
    kinds = console.get("ConnectTypesSupported")
    if console.get("ServiceEnabled") is False or not isinstance(kinds, list):
        return
    for kind in kinds:
        if kind in PORTS:
            note = _SHELL_NOTE if name == "CommandShell" and kind != "IPMI" else ""
            yield ConsoleWay(kind, _command(kind, address, PORTS[kind], user), note=note)


def _command(kind: str, address: str, port: int, user: str) -> str:
    if kind == "IPMI":
        port_option = "" if port == PORTS["IPMI"] else f" -p {port}"
        return f"ipmitool -I lanplus -H {address}{port_option} -U {user} -a sol activate"
    if kind == "Telnet":
        return f"telnet {address} {port}"
    return f"ssh -t{'' if port == PORTS['SSH'] else f' -p {port}'} {user}@{address}"


def _port(service: Mapping[str, Any], kind: str) -> int:
    port = service.get("Port")
    return port if isinstance(port, int) and not isinstance(port, bool) else PORTS[kind]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
