"""What firmware does for a UEFI HTTP boot (ask for the size, then load the program), and iPXE with a script."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import urljoin

import aiohttp

_TIMEOUT_S = 60
_AGENT = "UefiHttpBoot/1.0"


async def fetch_by_script(url: str, mac: str, machine_dir: Path) -> Path | None:
    """Read the iPXE script behind ``url`` as the machine with this MAC and load the kernel that it names, if any."""
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S, sock_connect=5)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as client,
            client.get(url, params={"mac": mac}) as answer,
        ):
            script = await answer.text() if answer.status == 200 else ""
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return None
    kernel = re.search(r"^kernel (\S+)", script, re.MULTILINE) if script.startswith("#!ipxe\n") else None
    return None if kernel is None else await fetch_program(urljoin(url, kernel.group(1)), machine_dir)


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
