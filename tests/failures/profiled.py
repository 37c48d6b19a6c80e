"""One simulated BMC of a profile, in a thread, with a site that declares its machine and wants all that it has."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.simulator.discovery.sites import BLUEPRINT, SiteOnDisk, make_site, run_cli

from metalwright.simulator.fleet.bmc import TreeBmc
from metalwright.simulator.fleet.plan import place
from metalwright.simulator.fleet.service import running_fleet
from metalwright.simulator.profiles import load_profile


@dataclass(frozen=True)
class Profiled:
    """A BMC that runs: rules are set on ``bmc.system.faults``, what it saw is in ``bmc.traffic``."""

    bmc: TreeBmc
    address: str
    port: int

    @property
    def password(self) -> str:
        """The factory password."""
        return self.bmc.spec.bmc.password.get_secret_value()

    def inspect(self) -> list[dict[str, Any]]:
        """What ``inspect --json`` prints."""
        login = {"METALWRIGHT_BMC_USER": self.bmc.spec.bmc.user, "METALWRIGHT_BMC_PASSWORD": self.password}
        done = run_cli("inspect", f"https://{self.address}:{self.port}", "--json", **login)
        assert done.code == 0, done.err
        reports: list[dict[str, Any]] = done.json
        return reports

    def reads(self, path: str) -> int:
        """How often a path was read."""
        return sum(record.method == "GET" and record.path.rstrip("/") == path for record in self.bmc.traffic.records)


@contextmanager
def profiled(name: str, address: str) -> Iterator[Profiled]:
    """Run one BMC of a profile until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=f"bmc-{name}", daemon=True)
    thread.start()
    context = running_fleet(place(f"{address}/32", [(load_profile(name).tree, 1)], 1))
    try:
        fleet = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result(30)
        try:
            yield Profiled(fleet.bmcs[address], address, fleet.port)
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def site_of(root: Path, machine: Profiled, hardware: dict[str, Any], **node: Any) -> SiteOnDisk:
    """A site whose node is this machine; ``hardware`` is the blueprint's section."""
    identity = machine.bmc.identity
    declared = {"name": "gpu-1", "serial": identity.serial, "uuid": identity.uuid(), "blueprint": "lab-vm@1.0.0"}
    site = make_site(root, [{**declared, "bmc_address": machine.address, **node}], machine.port)
    with (root / "blueprints/lab-vm/1.0.0.yaml").open("w") as file:
        YAML().dump({**BLUEPRINT, "hardware": hardware}, file)
    path = root / "inventory/site.yaml"
    path.write_text(path.read_text().replace("user: admin", f"user: {machine.bmc.spec.bmc.user}"))
    return site
