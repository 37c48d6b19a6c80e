"""The plain HTTP side of the boot server: boot media and image files under unguessable, expiring paths."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from aiohttp import web

from metalwright.imaging.medium_secrets import sha256_hex
from metalwright.imaging.pxe_service import EFI_PROGRAM, PxeService
from metalwright.imaging.ranged_file import RangedFile
from metalwright.model.deployment import Deployment, DeploymentStore

_BYTES: Final = "application/octet-stream"
NOTE_EVERY_S = 10.0
"""How often the reads of one medium are recorded."""

LOG = logging.getLogger(__name__)
Find = Callable[[str, datetime], Deployment | None]


class FileService:
    """Serves whole files and ranges; an unknown, used or expired path is 404, whatever the reason.

    ``firmware`` holds firmware images for BMCs that fetch them; no secret, and their digest is compared before a BMC
    is told of one. ``packages`` holds package mirrors (:mod:`metalwright.imaging.packages`): signed, public, and so
    under plain paths.
    """

    def __init__(
        self, store: DeploymentStore, clock: Callable[[], datetime], packages: Path, firmware: Path | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._packages = packages
        self._noted: dict[str, datetime] = {}
        self._firmware = firmware

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        application = web.Application()
        application.router.add_get("/m/{secret}/{name}", self.media)
        application.router.add_get("/i/{secret}/{name}", self.image)
        PxeService(self._store, self._clock, self._note_read).add_routes(application)
        application.router.add_get("/firmware/{sha256}/{name}", self.firmware)
        # apt asks for "./InRelease" of a source "URL ./", and does not shorten the path.
        for dot in ("", "./"):
            application.router.add_get("/packages/{blueprint}/{version}/" + dot + "{name}", self.package)
        return application

    async def firmware(self, request: web.Request) -> web.StreamResponse:
        """Serve a firmware image; the digest in the path is for people, the file was compared before."""
        name = request.match_info["name"]
        path = self._firmware / name if self._firmware is not None else None
        if path is None or name.startswith(".") or "/" in name or not path.is_file():
            raise web.HTTPNotFound
        return RangedFile(path)

    async def package(self, request: web.Request) -> web.StreamResponse:
        """Serve a file of a blueprint's package mirror."""
        parts = [request.match_info[part] for part in ("blueprint", "version", "name")]
        path = self._packages.joinpath(*parts)
        if any(part.startswith(".") or "/" in part for part in parts) or not path.is_file():
            raise web.HTTPNotFound
        return RangedFile(path)

    async def media(self, request: web.Request) -> web.StreamResponse:
        """Serve a boot medium; BMCs that stream it read ranges of it until the node is off again."""
        deployment = await self._find(self._store.get_by_media_secret_hash, request)
        await self._note_read(deployment)
        return self._serve(request, deployment, deployment.media_path, "boot medium")

    async def _note_read(self, deployment: Deployment) -> None:
        """Record the read; a BMC that streams reads thousands of ranges, so only now and then."""
        now, last = self._clock(), self._noted.get(deployment.deployment_id)
        if last is not None and (now - last).total_seconds() < NOTE_EVERY_S:
            return
        self._noted[deployment.deployment_id] = now
        await asyncio.to_thread(self._store.record_medium_read, deployment.deployment_id, now)

    async def image(self, request: web.Request) -> web.StreamResponse:
        """Serve an image file."""
        deployment = await self._find(self._store.get_by_image_secret_hash, request)
        return self._serve(request, deployment, deployment.image_path, "image")

    async def _find(self, find: Find, request: web.Request) -> Deployment:
        deployment = await asyncio.to_thread(find, sha256_hex(request.match_info["secret"]), self._clock())
        if deployment is None or deployment.state.is_final:
            raise web.HTTPNotFound
        return deployment

    def _serve(self, request: web.Request, deployment: Deployment, path: Path, what: str) -> web.StreamResponse:
        if not path.is_file():
            LOG.error("node %s: the %s %s is gone", deployment.node, what, path)
            raise web.HTTPNotFound
        LOG.info("node %s: %s %s from %s", deployment.node, request.method, what, request.remote)
        return RangedFile(path, EFI_PROGRAM if path.suffix == ".efi" else _BYTES)
