"""What all renderers share: the book, the paths of the vendor, and ids made from its formats."""

from __future__ import annotations

from typing import Any

from metalwright.simulator.profiles.book import ROOT, Book
from metalwright.simulator.profiles.machine import Cpus, Dimms, Drives, MachineData, Nics, Style

Json = dict[str, Any]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Frame:
    """One profile while it is rendered."""

    def __init__(self, data: MachineData, style: Style) -> None:
        self.data = data
        self.style = style
        self.book = Book(style.slash)
        self.system = f"{ROOT}/Systems/{style.system}"
        self.chassis = f"{ROOT}/Chassis/{style.chassis}"
        self.manager = f"{ROOT}/Managers/{style.manager}"
        self.same_version: dict[str, list[tuple[str, str]]] = {}
        self.pcie_devices: list[str] = []
        self.sensors: list[str] = []
        self.more_chassis: list[str] = []
        self.more_systems: list[str] = []
        self.more_managers: list[str] = []

    @property
    def systems(self) -> list[str]:
        """Paths of all systems, the host first."""
        return [*([self.system] if self.data.system is not None else []), *self.more_systems]

    def adapters(self) -> list[tuple[int, Nics]]:
        """Number from 1 and kind of every network adapter."""
        kinds = [kind for kind in self.data.nics for _ in range(kind.count)]
        return list(enumerate(kinds, 1))

    def drives(self) -> list[tuple[int, Drives]]:
        """Number from 1 and kind of every drive."""
        kinds = [kind for kind in self.data.drives for _ in range(kind.count)]
        return list(enumerate(kinds, 1))

    def port_macs(self) -> dict[tuple[int, int], str]:
        """Token of the MAC of each port, by (adapter, port) from 1; 0 is the BMC's own."""
        places = [(number, port) for number, kind in self.adapters() for port in range(1, kind.ports + 1)]
        return {place: f"{{{{MAC+{offset}}}}}" for offset, place in enumerate(places, 2)}

    def dimm_places(self, cpus: Cpus, dimms: Dimms) -> list[dict[str, Any]]:
        """Format values for every slot: n z socket index letter."""
        per_socket = dimms.slots // cpus.count
        places = []
        for zero in range(dimms.slots):
            socket, inner = divmod(zero, per_socket)
            letter, index = divmod(inner, dimms.channel)
            places.append(
                {
                    "n": zero + 1,
                    "z": zero,
                    "socket": socket + 1,
                    "side": _LETTERS[socket],
                    "inner": inner + 1,
                    "letter": _LETTERS[letter],
                    "index": index + 1,
                }
            )
        return places


def numbered(text: str, number: int) -> str:
    """A format filled with ``{n}`` from 1 and ``{z}`` from 0."""
    return text.format(n=number, z=number - 1, letter=_LETTERS[(number - 1) % 26])
