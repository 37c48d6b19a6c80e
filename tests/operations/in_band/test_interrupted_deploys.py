"""Deploys that are cut in the middle end in a clear state, and the next run repairs it: real dpkg, sshd, boots."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.machines import Machine, can_run_machines, segment
from tests.machines.packages import build_package, index_repository
from tests.machines.site import MachineSite, machine_site

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
]
POSTINST = "[ ! -e /root/fails ] || { echo it fails >&2; exit 1; }; [ ! -e /root/slow ] || sleep 20"
DEPLOY = """from metalwright.operations.apt import pinned
pinned(name="Pinned", pins=[{"name": "stack", "version": "2.0", "unit": "stack.service"}], lock_timeout_s=30)
"""
FILES = """from metalwright.operations.files import rendered
rendered(name="Files", files=[{{"path": f"/etc/kept/{{name}}", "text": {text}, "mode": "440"}} for name in "abc"])
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A node and a package whose installation takes long or fails, as the node says."""
    directory = tmp_path_factory.mktemp("interrupted")
    packages = directory / "packages"
    packages.mkdir()
    build_package(packages, "stack-data", "2.0-1", files={"/usr/share/stack/data": "x" * 3_000_000})
    build_package(packages, "stack", "2.0-1", depends="stack-data", scripts={"postinst": POSTINST})
    index_repository(packages)
    with segment() as wires:
        made = machine_site(directory / "site", wires)
        made.machines["lab-1"].put("/srv/stand-ins", packages)
        node = made.machines["lab-1"]
        node.run("echo 'deb [trusted=yes] file:/srv/stand-ins ./' > /etc/apt/sources.list; rm -rf /usr/share/stack")
        made.write_deploy("stack", DEPLOY)
        yield made


@pytest.fixture
def node(site: MachineSite) -> Iterator[Machine]:
    """The machine without the package."""
    machine = site.machines["lab-1"]
    yield machine
    machine.run("rm -f /root/slow /root/fails; apt-mark unhold stack; dpkg --purge stack stack-data")


def repaired(site: MachineSite, node: Machine) -> None:
    """The next run succeeds, the one after it finds nothing to do."""
    done = site.deploy("stack")
    assert done.code == 0, done.text
    assert done.changed == {"Pinned"}
    assert node.run("dpkg --audit").stdout == ""
    assert node.run("dpkg-query --show --showformat '${db:Status-Abbrev}${Version}' stack").stdout == "hi 2.0-1"
    assert site.deploy("stack").changed == set()


def started(site: MachineSite, node: Machine) -> subprocess.Popen[bytes]:
    """A run that is inside the package's installation script."""
    node.run("touch /root/slow")
    pyinfra = str(Path(sys.executable).with_name("pyinfra"))
    command = [pyinfra, "-y", "inventory/nodes.py", "deploys/stack.py"]
    process = subprocess.Popen(
        site.segment.on_controller(command),
        cwd=site.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while node.run("pgrep --full stack.postinst", check=False).returncode != 0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return process


def test_a_package_that_is_left_half_configured_is_configured_by_the_next_run(site: MachineSite, node: Machine) -> None:
    node.run("touch /root/fails")
    failed = site.deploy("stack")
    assert failed.code != 0
    assert "it fails" in failed.text
    assert node.run("dpkg-query --show --showformat '${db:Status-Status}' stack").stdout == "half-configured"
    node.run("rm /root/fails")
    repaired(site, node)


def test_a_full_disk_is_told_and_the_next_run_installs(site: MachineSite, node: Machine) -> None:
    node.run("mkdir -p /usr/share/stack; mount -t tmpfs -o size=1m tmpfs /usr/share/stack")
    failed = site.deploy("stack")
    assert failed.code != 0
    assert "No space left on device" in failed.text
    node.run("umount /usr/share/stack")
    repaired(site, node)


def test_a_full_disk_leaves_every_old_file_whole(site: MachineSite, node: Machine) -> None:
    """The new files take the place of the old ones only when all of them are written."""
    site.write_deploy("files", FILES.format(text='"old\\n"'))
    node.run("mkdir -p /etc/kept; mount -t tmpfs -o size=300k tmpfs /etc/kept")
    assert site.deploy("files").code == 0
    site.write_deploy("files", FILES.format(text='"new\\n" * 40_000'))
    failed = site.deploy("files")
    assert failed.code != 0
    assert "No space left on device" in failed.text
    assert node.run("cat /etc/kept/*; ls /etc/kept").stdout == "old\nold\nold\na\nb\nc\n"
    node.run("mount -o remount,size=2m /etc/kept")
    assert site.deploy("files").changed == {"Files"}
    assert site.deploy("files").changed == set()


def test_a_run_whose_connection_is_cut_is_taken_up_by_the_next_one(site: MachineSite, node: Machine) -> None:
    """What the node is doing goes on; the next run waits for its lock."""
    process = started(site, node)
    node.cable("down")
    process.kill()
    process.wait()
    node.cable("up")
    done = site.deploy("stack")
    assert done.code == 0, done.text
    assert node.run("dpkg --audit").stdout == ""
    assert site.deploy("stack").changed == set()


def test_a_package_manager_that_was_killed_is_taken_up(site: MachineSite, node: Machine) -> None:
    process = started(site, node)
    node.run("kill -9 $(pgrep --exact dpkg) $(pgrep --exact apt-get) $(pgrep --full '[s]tack.postinst') || true")
    process.wait(60)
    assert process.returncode != 0
    node.run("rm /root/slow")
    repaired(site, node)


def test_a_node_that_restarts_in_the_middle_is_repaired_after_it(site: MachineSite, node: Machine) -> None:
    process = started(site, node)
    node.power_off()
    node.boot()
    process.kill()
    process.wait()
    node.run("rm /root/slow")
    repaired(site, node)
