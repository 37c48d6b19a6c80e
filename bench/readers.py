"""The readers that are compared, each run in a process of its own: ``python -m bench.readers NAME`` (see sweep.py).

stdin: {"bmcs": [[url, user, password], …], "paths": [...]}; stdout: {"wall_s", "cpu_s", "rss_mib", "failed"}.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

THREADS = 64
LOGIN_READS = 3
"""The service root without login, then opening and deleting the session."""

Login = tuple[str, str, str]


def read_with_metalwright(bmcs: list[Login], paths: list[str]) -> int:
    """The whole inventory of each BMC, as ``match`` and ``inspect`` read it."""
    from metalwright.redfish.discovery.sweep import READ_AT_ONCE
    from metalwright.redfish.garbage import rarely_collected

    del paths
    limit = asyncio.Semaphore(READ_AT_ONCE)

    async def one(login: Login) -> bool:
        async with limit:
            return len(await _inventory(login)) == 1

    async def every() -> list[bool | BaseException]:
        return await asyncio.gather(*map(one, bmcs), return_exceptions=True)

    with rarely_collected():
        return sum(done is not True for done in asyncio.run(every()))


async def _inventory(login: Login, bodies: dict[str, Any] | None = None) -> list[Any]:
    from metalwright.redfish.async_client import AsyncClient
    from metalwright.redfish.client import Contact
    from metalwright.redfish.credentials import Credentials
    from metalwright.redfish.inventory import read_reports
    from metalwright.redfish.state import Limits

    url, user, password = login
    contact = Contact(url, Credentials(user, password), limits=Limits(deadline_s=600))
    async with AsyncClient(contact) as client:
        reader: Any = client if bodies is None else _Traced(client, bodies)
        return list(await read_reports(reader, address=url))


class _Traced:
    """Keeps what each path answered."""

    def __init__(self, client: Any, bodies: dict[str, Any]) -> None:
        self._client, self._bodies = client, bodies

    async def get(self, path: str) -> Any:
        self._bodies[path] = body = await self._client.get(path)
        return body


class _Rounds:
    """Answers in rounds: whatever was asked by then is answered together, so that rounds count dependent reads."""

    def __init__(self, bodies: dict[str, Any]) -> None:
        self._bodies = bodies
        self._waiting: list[tuple[asyncio.Future[Any], str]] = []
        self.count = 0

    async def get(self, path: str) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((future, path))
        return await future

    async def answer(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            if not self._waiting:
                continue
            self.count += 1
            waiting, self._waiting = self._waiting, []
            for future, path in waiting:
                future.set_result(self._bodies[path])


def trace(login: Login) -> tuple[list[str], int]:
    """What metalwright reads of one BMC, and how many of those reads must wait for one another; login included."""
    bodies: dict[str, Any] = {}
    asyncio.run(_inventory(login, bodies=bodies))

    async def replay() -> int:
        from metalwright.redfish.inventory import read_reports

        rounds = _Rounds(bodies)
        answering = asyncio.create_task(rounds.answer())
        await read_reports(rounds)
        answering.cancel()
        return rounds.count

    return list(bodies), asyncio.run(replay()) + LOGIN_READS


def read_with_dmtf(bmcs: list[Login], paths: list[str]) -> int:
    """DMTF's blocking client, one thread a BMC: the same resources, one after the other."""
    import redfish  # type: ignore[import-untyped]  # DMTF's library has no types

    def one(login: Login) -> bool:
        url, user, password = login
        client = redfish.redfish_client(base_url=url, username=user, password=password, timeout=60, max_retry=3)
        client.login(auth="session")
        try:
            return all(client.get(path).dict is not None for path in paths)
        finally:
            client.logout()

    return _in_threads(bmcs, one)


def read_with_sushy(bmcs: list[Login], paths: list[str]) -> int:
    """OpenStack's sushy, one thread a BMC: what it models of the same machine."""
    import sushy  # type: ignore[import-not-found]  # installed only for this comparison: bench/requirements.txt

    del paths

    def one(login: Login) -> bool:
        url, user, password = login
        auth = sushy.auth.SessionAuth(username=user, password=password)
        root = sushy.Sushy(f"{url}/redfish/v1", auth=auth, verify=False)
        try:
            for system in root.get_system_collection().get_members():
                _walk(sushy, system, "processors", "ethernet_interfaces", "storage", "simple_storage")
            for chassis in root.get_chassis_collection().get_members():
                _walk(sushy, chassis, "network_adapters")
            for manager in root.get_manager_collection().get_members():
                _walk(sushy, manager, "ethernet_interfaces", "virtual_media")
            _walk(sushy, root.get_update_service(), "firmware_inventory")
        finally:
            auth.close()
        return True

    return _in_threads(bmcs, one)


def _walk(sushy: Any, resource: Any, *names: str) -> None:
    """Read the members of the collections that sushy models and the resource has."""
    for name in names:
        try:
            members = getattr(resource, name).get_members()
            if name == "storage":
                _ = [storage.drives for storage in members]
        except (sushy.exceptions.MissingAttributeError, AttributeError):
            continue


def _in_threads(bmcs: list[Login], one: Callable[[Login], bool]) -> int:
    def attempt(login: Login) -> bool:
        try:
            return one(login)
        except Exception as error:
            print(f"{login[0]}: {type(error).__name__}: {error}", file=sys.stderr)
            return False

    with ThreadPoolExecutor(THREADS) as threads:
        return sum(not done for done in threads.map(attempt, bmcs))


READERS: dict[str, Callable[[list[Login], list[str]], int]] = {
    "metalwright": read_with_metalwright,
    "dmtf": read_with_dmtf,
    "sushy": read_with_sushy,
}


def main() -> None:
    """Run one reader and say what it cost."""
    work = json.load(sys.stdin)
    READERS[sys.argv[1]]([], [])  # imports count for nobody
    before = resource.getrusage(resource.RUSAGE_SELF)
    begun = time.perf_counter()
    failed = READERS[sys.argv[1]]([(url, user, password) for url, user, password in work["bmcs"]], work["paths"])
    wall_s = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    json.dump({"wall_s": wall_s, "cpu_s": cpu_s, "rss_mib": after.ru_maxrss / 1024, "failed": failed}, sys.stdout)


if __name__ == "__main__":
    main()
