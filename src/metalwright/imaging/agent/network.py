"""Bringing the network up in the ramdisk: one declared port with a static address, or DHCP on every port."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

from metalwright.imaging.agent.console import say
from metalwright.imaging.agent.failures import AgentError
from metalwright.imaging.agent.records import Network
from metalwright.imaging.agent.tools import run_tool

_PORT_WAIT_S: Final = 20.0
_DHCP_TRIES: Final = 20


def up_network(network: Network | None, sys: Path = Path("/sys")) -> None:
    """Configure the declared port, or ask DHCP on all ports at once (``None``); the first lease is enough."""
    if network is None:
        _up_dhcp(sys)
        return
    port = _wait_for_port(network.mac, sys)
    _ip("link", "set", port, "up")
    _ip("addr", "add", network.address, "dev", port)
    if network.gateway:
        _ip("route", "add", "default", "via", network.gateway, "dev", port)
    say(f"network: {port} ({network.mac}) has {network.address}")


def _wait_for_port(mac: str, sys: Path) -> str:
    deadline = time.monotonic() + _PORT_WAIT_S
    while True:
        ports = read_ports(sys)
        if mac.lower() in ports:
            return ports[mac.lower()]
        if time.monotonic() > deadline:
            found = ", ".join(f"{port} {address}" for address, port in sorted(ports.items()))
            raise AgentError("identity", "no network port has the declared MAC", expected=mac, found=found or "no port")
        time.sleep(0.1)


def read_ports(sys: Path = Path("/sys")) -> dict[str, str]:
    """Return MAC (lower case) → port name of every port with a device behind it."""
    ports = [port for port in sorted((sys / "class/net").iterdir()) if (port / "device").exists()]
    return {(port / "address").read_text().strip().lower(): port.name for port in ports}


def _up_dhcp(sys: Path) -> None:
    ports = sorted(read_ports(sys).values())
    clients = []
    for port in ports:
        _ip("link", "set", port, "up")
        argv = ["udhcpc", "-f", "-q", "-n", "-t", str(_DHCP_TRIES), "-T", "1", "-i", port, "-s", "/metalwright/udhcpc"]
        clients.append(subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    while clients and all(client.poll() is None or client.returncode != 0 for client in clients):
        if all(client.poll() is not None for client in clients):
            break
        time.sleep(0.1)
    if not any(client.poll() == 0 for client in clients):
        raise AgentError("server-unreachable", "no port got an address by DHCP", found=", ".join(ports) or "no port")
    say(f"network: DHCP on {', '.join(ports)}")


def _ip(*arguments: str) -> None:
    run_tool(["ip", *arguments], code="server-unreachable", wrote=False)
