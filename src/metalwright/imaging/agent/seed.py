"""What makes the image this node: names, machine id, the task's files, the stamp's copy and the SSH host key."""

from __future__ import annotations

import json
from typing import Final

from metalwright.imaging.agent.records import Task
from metalwright.imaging.agent.root_file_system import RootFileSystem

STAMP_PATH: Final = "/etc/metalwright/stamp.json"


def seed_root(root: RootFileSystem, task: Task) -> str | None:
    """Write the seed and return the node's public SSH host key, ``None`` when the task wants none.

    The task's files come last, so they win over the names written here.
    """
    seed = task.seed
    root.write_file("/etc/hostname", f"{seed.hostname}\n", 0o644)
    root.write_file("/etc/hosts", _hosts(seed.hostname, seed.fqdn), 0o644)
    if seed.machine_id is not None:
        root.write_file("/etc/machine-id", f"{seed.machine_id}\n", 0o444)
    for file in seed.files:
        root.write_file(file.path, file.text, int(file.mode, 8))
    root.write_file(STAMP_PATH, json.dumps(dict(task.stamp), sort_keys=True, indent=2) + "\n", 0o644)
    return root.make_ssh_host_key() if task.ssh_host_key else None


def _hosts(hostname: str, fqdn: str) -> str:
    return f"127.0.0.1\tlocalhost\n127.0.1.1\t{fqdn} {hostname}\n\n::1\tlocalhost ip6-localhost ip6-loopback\n"
