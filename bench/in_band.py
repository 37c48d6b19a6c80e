"""What the software phase costs the controller: CPU for each operation and host, with nodes that answer at once.

    python -m bench.in_band                 100 hosts
    python -m bench.in_band --hosts 500

Two times the real pyinfra in a process of its own, with a connector that answers from memory as a bare node would: the
whole software phase (every operation has something to do), then as many of pyinfra's own shell operations. The
difference is ours. Exit 1 when an operation of ours costs more than 5 ms for a host.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LIMIT_MS = 5.0
ANSWERS = {
    "root:yes": ["root:yes"],
    "packages-end": ["packages-end"],
    "candidates-end": [
        "candidate: containerd | 1.6.20~ds1-1 | source",
        "candidate: prometheus-node-exporter | 1.5.0-1 | source",
        "candidates-end",
    ],
    "files-end": ["files-end"],
    "find-end": ["find-end"],
    "release:": ["release:6.1.0-1-amd64"],
    "arguments:": ['arguments:{"loader": "GRUB", "next": [], "running": [], "problem": ""}'],
    "nft --json": ['{"nftables": []}', f"rules-loaded:{'0' * 64}", f"rules-written:{'0' * 64}"],
    "account:": ["account:root:x:0:0:root:/root:/bin/bash", "end:root:*:"],
}
"""Part of a fact's command → what a bare node answers."""

UNIT = (
    "Id={}\nLoadState=loaded\nType=simple\nActiveState=active\nSubState=running\nResult=success\nNRestarts=0\n"
    "UnitFileState=enabled\nActiveEnterTimestampMonotonic=1000000\n"
)


def answer(node: str, command: str) -> list[str]:
    """Lines of standard output."""
    if "uid:%s" in command:
        return ["uid:0", "stamp:" + json.dumps({"node": node})]
    if "systemctl show" in command:
        units = re.findall(r"\S+\.(?:service|timer)", command)
        return "\n".join([*(UNIT.format(unit) for unit in units), "Uptime=100000.0 1.0"]).splitlines()
    return next((lines for part, lines in ANSWERS.items() if part in command), [])


def write_site(root: Path, hosts: int) -> None:
    """A site of that many virtual machines with addresses."""
    from metalwright.loading.locks import write_addresses
    from metalwright.model.addresses import AddressLock, Allocation
    from metalwright.starter.site import create_site

    nodes, allocations = [], []
    for index in range(1, hosts + 1):
        name, low = f"node-{index}", f"{index // 200:02x}:{index % 200:02x}"
        nodes.append(
            f"  - name: {name}\n    serial: S{index:05}\n    uuid: 6d657461-6c6c-0000-0000-{index:012x}\n"
            f'    bmc_mac: "52:54:00:bc:{low}"\n    blueprint: lab-vm@1.0.0\n'
        )
        allocations.append(Allocation(address=f"10.99.{index // 200}.{index % 200 + 1}", network="hosts", node=name))
    site = (
        "schema: 1\nname: lab\ndomain: lab.test\nntp: [ntp.lab.test]\nboot_server: {address_for_bmc: 127.107.9.1, "
        "address_for_node: 127.107.9.1}\nadmins: [{name: operator, authorized_keys: [ssh-ed25519 AAAA operator]}]\n"
    )
    networks = (
        "schema: 1\nnetworks:\n  - {name: oob, purpose: oob-management, prefix: 127.107.64.0/22}\n"
        "  - {name: hosts, purpose: host-management, prefix: 10.99.0.0/16}\n"
    )
    rack = "schema: 1\nname: rack-1\nsite: lab\nnodes:\n" + "".join(nodes)
    create_site(root, inventory={"site.yaml": site, "networks.yaml": networks, "racks/rack-1.yaml": rack})
    write_addresses(root / "inventory/addresses.lock", AddressLock(allocations=tuple(allocations)))


def run_pyinfra(root: Path, what: str, operations: int) -> dict[str, Any]:
    """Run one of the two in this process; returns operations, hosts, CPU and wall seconds."""
    from gevent import monkey

    monkey.patch_all()
    from pyinfra.api import Config, Inventory, State
    from pyinfra.api.connect import connect_all
    from pyinfra.api.deploy import add_deploy
    from pyinfra.api.operation import add_op
    from pyinfra.api.operations import run_ops
    from pyinfra.api.state import StateStage
    from pyinfra.connectors.ssh import SSHConnector
    from pyinfra.connectors.util import CommandOutput, OutputLine
    from pyinfra.context import ctx_config, ctx_state
    from pyinfra.operations import server

    from metalwright.connectors.nodes import node_groups
    from metalwright.deploys.software import software

    def shell(self: Any, command: Any, **_: Any) -> tuple[bool, CommandOutput]:
        text = command if isinstance(command, str) else command.get_raw_value()
        return True, CommandOutput([OutputLine("stdout", line) for line in answer(self.host.name, text)])

    patched: dict[str, Any] = {"connect": lambda _: None, "disconnect": lambda _: None, "run_shell_command": shell}
    for name, function in patched.items():
        setattr(SSHConnector, name, function)
    nodes = node_groups(root)["nodes"]
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    state = State(Inventory((nodes, {})), Config(PARALLEL=50))  # type: ignore[no-untyped-call]  # pyinfra's
    with ctx_state.use(state), ctx_config.use(state.config.copy()):
        state.set_stage(StateStage.Connect)
        connect_all(state)
        state.set_stage(StateStage.Prepare)
        if what == "ours":
            add_deploy(state, software)
        for index in range(operations if what == "pyinfra" else 0):
            add_op(state, server.shell, name=f"operation {index}", commands=["true"])
        state.set_stage(StateStage.Execute)
        run_ops(state)
        assert not state.failed_hosts, state.failed_hosts
        done = len(list(state.get_op_order()))  # type: ignore[no-untyped-call]  # pyinfra's
    return {
        "operations": done,
        "hosts": len(nodes),
        "cpu_s": round(time.process_time() - begun_cpu_s, 3),
        "wall_s": round(time.monotonic() - begun_s, 3),
    }


def child(root: Path, what: str, operations: int = 0) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", "bench.in_band", "--child", what, "--operations", str(operations), str(root)]
    done = subprocess.run(
        command, env={**os.environ, "METALWRIGHT_SITE": str(root)}, stdout=subprocess.PIPE, check=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--child")
    parser.add_argument("--operations", type=int, default=0)
    parser.add_argument("site", nargs="?")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(run_pyinfra(Path(options.site), options.child, options.operations)))
        return 0
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "site"
        write_site(root, options.hosts)
        ours = child(root, "ours")
        bare = child(root, "pyinfra", ours["operations"])
    work = ours["operations"] * ours["hosts"]
    ms = 1000 * ours["cpu_s"] / work
    bare_ms = 1000 * bare["cpu_s"] / work
    print(
        json.dumps(
            {
                "software": ours,
                "pyinfra's own": bare,
                "cpu_ms_per_operation_and_host": round(ms, 2),
                "of which ours": round(ms - bare_ms, 2),
                "ratio": round(ms / bare_ms, 2),
                "limit_ms": LIMIT_MS,
            },
            indent=2,
        )
    )
    return 0 if ms - bare_ms <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
