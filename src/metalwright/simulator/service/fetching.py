"""Fetches what a client names by URL: media and firmware images."""

from __future__ import annotations

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from metalwright.simulator.service.answers import refuse

_FETCH_TIMEOUT_S = 300
_CHUNK_BYTES = 1024**2
_MAX_BYTES = 8 * 1024**3


async def fetch(url: str, target: Path) -> None:
    """Copy the image to ``target``; refusals never show the URL, since its path may be a secret."""
    server = urlsplit(url).netloc.rsplit("@", 1)[-1]
    timeout = aiohttp.ClientTimeout(total=_FETCH_TIMEOUT_S, sock_connect=5, sock_read=30)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as client, client.get(url, ssl=False) as answer:
            if answer.status != 200:
                raise refuse("ResourceAtUriInUnknownFormat", f"{server} (HTTP {answer.status})", status=400)
            await _copy(answer.content, target, server)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise refuse("CouldNotEstablishConnection", f"{server} ({type(error).__name__})") from error


async def _copy(content: aiohttp.StreamReader, target: Path, server: str) -> None:
    size_bytes = 0
    with await asyncio.to_thread(target.open, "wb") as file:
        async for chunk in content.iter_chunked(_CHUNK_BYTES):
            size_bytes += len(chunk)
            if size_bytes > _MAX_BYTES:
                raise refuse("ResourceAtUriInUnknownFormat", f"{server} (more than {_MAX_BYTES} bytes)", status=400)
            file.write(chunk)
    if size_bytes == 0:
        raise refuse("ResourceAtUriInUnknownFormat", f"{server} (empty)", status=400)
