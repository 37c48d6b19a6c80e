"""A BMC that offers ``$expand`` is read with far fewer requests, and the report is the same."""

from __future__ import annotations

from metalwright.model.report import HardwareReport
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.client import Contact
from metalwright.redfish.credentials import Credentials
from metalwright.redfish.inventory import read_reports
from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import Manner, running_fleet
from metalwright.simulator.profiles import load_profile


async def read(expands: bool) -> tuple[HardwareReport, int]:
    """The report of one 8-GPU server, and how many requests its BMC saw."""
    bmcs = place("127.94.4.0/30", [(load_profile("h100-8x-supermicro").tree, 1)], 1)
    async with running_fleet(bmcs, manner=Manner(expands=expands)) as fleet:
        (bmc,) = fleet.bmcs.values()
        login = Credentials("ADMIN", f"FACTORY{bmcs[0][0].code}")
        async with AsyncClient(Contact(f"https://{bmc.address}:{fleet.port}", login)) as client:
            (report,) = await read_reports(client, address=bmc.address)
        return report, bmc.traffic.total


async def test_the_same_report_takes_half_the_requests() -> None:
    plain, plain_requests = await read(expands=False)
    expanded, requests = await read(expands=True)
    assert expanded == plain
    assert requests < 0.6 * plain_requests
