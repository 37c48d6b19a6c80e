"""Whether somebody uses an address already: a connection attempt, then the kernel's neighbour table."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from metalwright.allocations.probe import Probe

PORTS = (443, 22)
"""Anything would do: a refusal is an answer, too."""

TIMEOUT_S = 1.0
AT_ONCE = 128
NEIGHBOURS = Path("/proc/net/arp")
_COMPLETE = 0x2


def answering_addresses(addresses: Collection[str]) -> Probe:
    """Ask all of them at once; takes about a second for each :data:`AT_ONCE` that are silent."""
    return asyncio.run(_ask_all(addresses))


async def _ask_all(addresses: Collection[str]) -> Probe:
    limit = asyncio.Semaphore(AT_ONCE)

    async def ask(address: str) -> bool | None:
        async with limit:
            return await _ask(address)

    heard = dict(zip(addresses, await asyncio.gather(*map(ask, addresses)), strict=True))
    neighbours = _neighbours()
    return Probe(
        frozenset(address for address, is_heard in heard.items() if is_heard or address in neighbours),
        frozenset(address for address, is_heard in heard.items() if is_heard is None and address not in neighbours),
    )


async def _ask(address: str) -> bool | None:
    """True: somebody answered. False: silence. ``None``: no way there from this machine."""
    for port in PORTS:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                _, writer = await asyncio.open_connection(address, port)
        except (ConnectionRefusedError, ConnectionResetError):
            return True
        except TimeoutError:
            continue
        except OSError as error:
            if error.errno in (errno.ENETUNREACH, errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL):
                return None
            continue
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True
    return False


def _neighbours(table: Path = NEIGHBOURS) -> frozenset[str]:
    """The addresses that answered an ARP request lately, whatever their firewall does."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return frozenset()
    return frozenset(row[0] for row in rows if len(row) >= 4 and int(row[2], 16) & _COMPLETE)
