"""What the boot server gives to firmware that boots from the network: an iPXE script, and the ramdisk's program.

Both only for nodes that a run has armed. The addresses can be guessed, so nothing behind them is secret.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from aiohttp import web

from metalwright.imaging.claims import find_armed, is_armed
from metalwright.imaging.ranged_file import RangedFile
from metalwright.model.deployment import Deployment, DeploymentStore

LOG = logging.getLogger(__name__)
EFI_PROGRAM: Final = "application/efi"
"""What UEFI HTTP boot takes as a program, whatever its name (UEFI 2.10, 24.7.3.1)."""
IPXE: Final = Path("/usr/lib/ipxe/snponly.efi")
"""iPXE on the firmware's own network driver, from Debian's package ipxe."""
_BOOT: Final = """#!ipxe
echo metalwright: deploy ramdisk of {node}
kernel {node}/deploy.efi || exit 1
boot || exit 1
"""
_NOTHING: Final = """#!ipxe
echo metalwright: nothing to deploy on this machine, the next boot option is tried
exit 1
"""
NoteRead = Callable[[Deployment], Awaitable[None]]


class PxeService:
    """``/pxe/snponly.efi``, ``/pxe/boot.ipxe?mac=…`` and ``/pxe/NODE/deploy.efi``.

    ``note_read`` records that a medium was fetched.
    """

    def __init__(self, store: DeploymentStore, clock: Callable[[], datetime], note_read: NoteRead) -> None:
        self._store = store
        self._clock = clock
        self._note_read = note_read

    def add_routes(self, application: web.Application) -> None:
        """Add the paths."""
        application.router.add_get("/pxe/boot.ipxe", self.script)
        application.router.add_get("/pxe/snponly.efi", self.loader)
        application.router.add_get("/pxe/{node}/deploy.efi", self.program)

    async def script(self, request: web.Request) -> web.Response:
        """Answer every machine; only one that is armed is sent to the ramdisk, any other to its next boot option."""
        mac = request.query.get("mac", "").replace("-", ":")
        deployment = find_armed(await self._armed(), mac)
        LOG.info("network boot of %s: %s", mac or "a machine without MAC", deployment.node if deployment else "nothing")
        text = _NOTHING if deployment is None else _BOOT.format(node=deployment.node)
        return web.Response(text=text, content_type="text/plain")

    async def loader(self, request: web.Request) -> web.StreamResponse:
        """Serve Debian's iPXE to firmware that boots over HTTP; public, and it asks for the script next."""
        del request
        if not IPXE.is_file():
            LOG.error("a machine asked for iPXE, which is not installed: apt-get install ipxe")
            raise web.HTTPNotFound
        return RangedFile(IPXE, EFI_PROGRAM)

    async def program(self, request: web.Request) -> web.StreamResponse:
        """Serve the ramdisk of an armed node; 404 for every other."""
        node = request.match_info["node"]
        deployment = next((item for item in await self._armed() if item.node == node), None)
        if deployment is None or not deployment.media_path.is_file():
            raise web.HTTPNotFound
        await self._note_read(deployment)
        LOG.info("node %s: %s network boot from %s", node, request.method, request.remote)
        return RangedFile(deployment.media_path, EFI_PROGRAM)

    async def _armed(self) -> list[Deployment]:
        open_ones = await asyncio.to_thread(self._store.prepared, self._clock())
        return [deployment for deployment in open_ones if is_armed(deployment)]
