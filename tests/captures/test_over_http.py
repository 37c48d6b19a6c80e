"""A captured tree served over HTTP and read by the real client gives the same reports as the tree in memory."""

from __future__ import annotations

from aiohttp import web
from tests.captures.conftest import load

from metalwright.errors import RedfishError
from metalwright.redfish import Contact
from metalwright.redfish.async_client import AsyncClient
from metalwright.redfish.inventory import CapturedTree, read_reports

ADDRESS = "127.85.4.1"


def serve(tree: CapturedTree) -> web.Application:
    """A web service that answers as the captured BMC did: what was no JSON stays no JSON, what is missing is a 404."""

    async def answer(request: web.Request) -> web.Response:
        try:
            return web.json_response(dict(await tree.get(request.path_qs)))
        except RedfishError as error:
            return web.Response(status=error.status or 200, text="not JSON")

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    return application


async def test_the_client_reads_what_the_tree_holds(machine: str) -> None:
    runner = web.AppRunner(serve(load(machine)), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, ADDRESS, 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with AsyncClient(Contact(f"http://{ADDRESS}:{port}", allow_http=True)) as client:
            over_http = await read_reports(client)
    finally:
        await runner.cleanup()
    in_memory = await read_reports(load(machine))
    assert [report.model_copy(update={"problems": ()}) for report in over_http] == [
        report.model_copy(update={"problems": ()}) for report in in_memory
    ]
