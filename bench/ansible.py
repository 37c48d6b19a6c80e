"""One common deploy by metalwright's pyinfra and by Ansible, on the same machines, one after the other.

    python -m bench.ansible                 4 machines
    python -m bench.ansible --machines 8 --save ansible

The deploy: chrony present, its configuration, a sudo rule, sshd settings with a reload, three services enabled and
running. Machines are namespaces of this computer with systemd and sshd of their own (root is needed); Ansible is
Debian's ansible-core with pipelining and persistent connections. First run and second run (nothing to do), wall and CPU
seconds of the controller. Exit 1 when either fails or changes something in its second run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.machines import segment
from tests.machines.packages import build_package, index_repository
from tests.machines.site import MachineSite, machine_site

RESULTS = Path(__file__).parent / "results"
BARE = "dpkg --force-all --purge chrony >/dev/null 2>&1 || true\nsystemctl unmask nftables.service\n"
CHRONY = "server ntp.lab.test iburst\nrtcsync\n"
SUDO = "operator ALL=(ALL:ALL) NOPASSWD: ALL\n"
SSHD = "AuthorizedKeysFile /etc/ssh/authorized_keys.d/%u\nPasswordAuthentication no\n"
UNITS = ("ssh.service", "chrony.service", "dbus.service")
PYINFRA = f"""from pyinfra.operations import server
from metalwright.operations.apt import pinned
from metalwright.operations.files import rendered
from metalwright.operations.systemd import running
pinned(name="Packages", pins=[], present=["chrony"])
rendered(name="Files", files=[
    {{"path": "/etc/chrony/chrony.conf", "text": {CHRONY!r}, "mode": "644"}},
    {{"path": "/etc/sudoers.d/operator", "text": {SUDO!r}, "mode": "440"}},
])
sshd = rendered(name="sshd", files=[
    {{"path": "/etc/ssh/sshd_config.d/00-metalwright.conf", "text": {SSHD!r}, "mode": "644"}}])
server.shell(name="Reload", commands=["sshd -t", "systemctl reload ssh"], _if=sshd.did_change)
running(name="Services", units={UNITS!r}, settle_s=0.0)
"""


def playbook() -> list[dict[str, Any]]:
    """The same as a playbook; JSON is YAML."""
    copies = {"/etc/chrony/chrony.conf": (CHRONY, "0644"), "/etc/sudoers.d/operator": (SUDO, "0440")}
    tasks: list[dict[str, Any]] = [{"apt": {"name": "chrony"}}]
    tasks += [{"copy": {"dest": path, "content": text, "mode": mode}} for path, (text, mode) in copies.items()]
    sshd = {"dest": "/etc/ssh/sshd_config.d/00-metalwright.conf", "content": SSHD, "mode": "0644"}
    tasks.append({"copy": sshd, "notify": "reload"})
    tasks += [{"systemd": {"name": unit, "enabled": True, "state": "started"}} for unit in UNITS]
    handlers = [{"name": "reload", "systemd": {"name": "ssh", "state": "reloaded"}}]
    return [{"hosts": "all", "become": True, "gather_facts": False, "tasks": tasks, "handlers": handlers}]


def measured(site: MachineSite, command: Sequence[str], **environment: str) -> tuple[dict[str, float], str]:
    """Run on the controller; wall and CPU seconds of it and its children, and what it printed."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        site.segment.on_controller(command),
        cwd=site.root,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": round(time.monotonic() - begun, 2), "cpu_s": round(cpu_s, 2)}, done.stdout


def by_pyinfra(site: MachineSite) -> tuple[dict[str, float], int]:
    """One run and how many operations changed something."""
    program = str(Path(sys.executable).with_name("pyinfra"))
    command = [program, "-y", "--json", "inventory/nodes.py", "deploys/common.py"]
    cost, text = measured(site, command, PYINFRA_PROGRESS="off", METALWRIGHT_SITE=str(site.root))
    operations = json.loads(text.splitlines()[-1])["results"]["operations"]
    return cost, sum(len(item["success"]) for item in operations)


def by_ansible(site: MachineSite) -> tuple[dict[str, float], int]:
    """One run and how many tasks changed something."""
    settings = {
        "ANSIBLE_PIPELINING": "1", "ANSIBLE_HOST_KEY_CHECKING": "0",
        "ANSIBLE_FORKS": "50", "ANSIBLE_LOCALHOST_WARNING": "0", "ANSIBLE_HOME": str(site.root / ".ansible"),
    }  # fmt: skip
    cost, text = measured(site, ["/usr/bin/ansible-playbook", "-i", "hosts.ini", "common.json"], **settings)
    return cost, sum(int(count) for count in re.findall(r"changed=(\d+)", text))


def compared(machines: int) -> dict[str, Any]:
    """Each on bare machines of its own, alike in everything."""
    found: dict[str, Any] = {"machines": machines}
    for name, run in (("ansible", by_ansible), ("pyinfra", by_pyinfra)):
        with tempfile.TemporaryDirectory() as directory, segment() as wires:
            packages = Path(directory) / "packages"
            packages.mkdir()
            build_package(
                packages, "chrony", "4.3-2", unit="chrony.service", files={"/etc/chrony/README": "settings\n"}
            )
            index_repository(packages)
            names = [f"lab-{index}" for index in range(1, machines + 1)]
            site = machine_site(Path(directory) / "site", wires, names, setup=BARE)
            for node in site.machines.values():
                node.put("/srv/stand-ins", packages)
                node.run(
                    "echo 'deb [trusted=yes] file:/srv/stand-ins ./' > /etc/apt/sources.list; apt-get --quiet update"
                )
            site.write_deploy("common", PYINFRA)
            (site.root / "common.json").write_text(json.dumps(playbook()))
            login = f"ansible_user=metalwright ansible_ssh_private_key_file={Path(directory) / 'key'}"
            lines = [f"{node.name} ansible_host={node.address} {login}" for node in site.machines.values()]
            (site.root / "hosts.ini").write_text("\n".join(lines) + "\n")
            first, changed = run(site)
            second, changed_again = run(site)
            found[name] = {"first": first, "changed": changed, "second": second, "changed again": changed_again}
    for part in ("first", "second"):
        ours, theirs = found["pyinfra"][part], found["ansible"][part]
        found[f"ansible / pyinfra, {part} run"] = {key: round(theirs[key] / ours[key], 2) for key in ours}
    return found


def main() -> int:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.json")
    options = parser.parse_args()
    found = compared(options.machines)
    print(json.dumps(found, indent=2))
    if options.save:
        (RESULTS / f"{options.save}.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0 if not found["ansible"]["changed again"] and not found["pyinfra"]["changed again"] else 1


if __name__ == "__main__":
    sys.exit(main())
