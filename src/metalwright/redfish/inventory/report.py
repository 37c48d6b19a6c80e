"""Reading a BMC: the full reports, or only who it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from metalwright.model.report import HardwareReport, Problem
from metalwright.redfish.inventory.bmc import read_bmc
from metalwright.redfish.inventory.cpus import read_cpus
from metalwright.redfish.inventory.drives import read_drives
from metalwright.redfish.inventory.equipment import Hostless, read_hostless
from metalwright.redfish.inventory.estate import Estate, Host, read_estate
from metalwright.redfish.inventory.firmware import read_firmware
from metalwright.redfish.inventory.gpus import read_gpus
from metalwright.redfish.inventory.memory import read_memory
from metalwright.redfish.inventory.nics import read_nics
from metalwright.redfish.inventory.psus import read_psus
from metalwright.redfish.inventory.reader import Reader
from metalwright.redfish.inventory.resource import UNKNOWN
from metalwright.redfish.inventory.systems import chassis_facts, power_state, system_facts
from metalwright.redfish.inventory.walk import DEFAULT_READ_BUDGET, Walk, together

Part = Literal["cpus", "memory", "gpus", "nics", "drives", "psus", "firmware"]
IDENTITY_READ_BUDGET = 200
ALL_PARTS: frozenset[Part] = frozenset(get_args(Part))


async def read_reports(
    reader: Reader,
    address: str | None = None,
    parts: Collection[Part] = ALL_PARTS,
    read_budget: int = DEFAULT_READ_BUDGET,
) -> list[HardwareReport]:
    """One report per host system of the BMC; ``[]`` when it has none (a DPU, a switch, a power shelf).

    ``address`` is where the BMC was reached, for the report. Parts that are not asked for stay ``None``; so do parts
    that the BMC does not describe, and ``problems`` names them.

    Raises:
        BmcAuthError, BmcCertificateError: the session is not usable.
        BmcUnreachableError: the BMC stopped answering.
        BmcAnswerError: the service root or the list of systems cannot be read.
    """
    with Walk(reader, read_budget) as walk:
        estate = await read_estate(walk)
        return await together(host_report(walk, estate, host, address, parts) for host in estate.hosts)


_READERS: dict[Part, Callable[[Walk, Host], Coroutine[Any, Any, Any]]] = {
    "cpus": read_cpus,
    "memory": read_memory,
    "gpus": read_gpus,
    "nics": read_nics,
    "drives": read_drives,
    "psus": read_psus,
}


async def host_report(
    walk: Walk, estate: Estate, host: Host, address: str | None, parts: Collection[Part]
) -> HardwareReport:
    """The report of one host, with ``parts``; see :func:`read_reports`."""
    reading: dict[str, Coroutine[Any, Any, Any]] = {"bmc": read_bmc(walk, estate, host, address)}
    reading |= {part: read(walk, host) for part, read in _READERS.items() if part in parts}
    if "firmware" in parts:
        reading["firmware"] = read_firmware(walk, estate.root)
    results = dict(zip(reading, await together(reading.values()), strict=True))
    return HardwareReport(
        system=system_facts(host), chassis=chassis_facts(host), **results, problems=_problems(walk, estate, host)
    )


def _problems(walk: Walk, estate: Estate, host: Host) -> tuple[Problem, ...]:
    """The problems of the BMC without those of the other hosts that it manages."""
    others = tuple(f"{other.system.uri.rstrip('/')}/" for other in estate.hosts if other is not host)
    state = power_state(host.system) or UNKNOWN
    mine = (problem for problem in walk.problems if not f"{problem.uri}/".startswith(others))
    return tuple(
        Problem(uri=problem.uri, what=f"{problem.what} (power state {state})")
        if problem.what.endswith(f" {UNKNOWN}")
        else problem
        for problem in mine
    )


async def read_identities(
    reader: Reader, address: str | None = None, read_budget: int = IDENTITY_READ_BUDGET
) -> list[HardwareReport]:
    """Who answers, in a handful of reads: reports with ``bmc``, ``system`` and ``chassis`` only; ``[]`` without host.

    Raises: as :func:`read_reports`.
    """
    return list((await read_found(reader, address, read_budget)).hosts)


@dataclass(frozen=True)
class Found:
    """Who a BMC manages: its hosts, or what it is without any."""

    hosts: tuple[HardwareReport, ...]
    hostless: Hostless | None = None


async def read_found(reader: Reader, address: str | None = None, read_budget: int = IDENTITY_READ_BUDGET) -> Found:
    """The identities of the hosts of a BMC; of one without a host, its own.

    Raises: as :func:`read_reports`.
    """
    with Walk(reader, read_budget) as walk:
        estate = await read_estate(walk, with_chassis=False)
        if not estate.hosts:
            return Found((), await read_hostless(walk, estate, address))
        return Found(tuple(await together(_identity(walk, estate, host, address) for host in estate.hosts)))


async def _identity(walk: Walk, estate: Estate, host: Host, address: str | None) -> HardwareReport:
    chassis = await walk.linked(host.system.links("Links", "Chassis"))
    host = replace(host, chassis=chassis.resources)
    bmc = await read_bmc(walk, estate, host, address, with_inventory=False)
    problems = _problems(walk, estate, host)
    return HardwareReport(bmc=bmc, system=system_facts(host), chassis=chassis_facts(host), problems=problems)
