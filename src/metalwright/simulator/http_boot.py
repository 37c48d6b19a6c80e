"""What firmware does for a UEFI HTTP boot: ask for the size, then load the program."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

_TIMEOUT_S = 60
_AGENT = "UefiHttpBoot/1.0"


async def fetch_program(url: str, machine_dir: Path) -> Path | None:
    """Load the program behind ``url`` into ``machine_dir``; None when it cannot be had, as firmware then goes on."""
    target = machine_dir / "http-boot.efi"
    target.unlink(missing_ok=True)
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S, sock_connect=5)
    headers = {"User-Agent": _AGENT}
    try:
        async with aiohttp.ClientSession(timeout=timeout, headers=headers) as client:
            async with client.head(url) as asked:
                if asked.status != 200:
                    return None
            async with client.get(url) as answer:
                if answer.status != 200:
                    return None
                data = await answer.read()
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    await asyncio.to_thread(target.write_bytes, data)
    return target
