"""The kernel's settings and packages, and security patches, on a real system with the project's own packages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyinfra.api.exceptions import FactProcessError
from tests.failures.machine_site import write_stand_ins
from tests.machines import Machine, can_run_machines, segment
from tests.machines.packages import build_package, index_repository
from tests.machines.site import MachineSite, machine_site
from tests.operations.in_band.stand_in import commands_of, run_function

from metalwright.errors import DeployError
from metalwright.facts.kernel import Governors, KernelPackages, Sysctls
from metalwright.operations.kernel import governor, kept, settings

SOFTWARE = """
  container_runtime: {name: containerd, version: 1.6.20}
  sysctl: {net.ipv4.ip_forward: 1, net.ipv4.tcp_rmem: "4096 131072 6291456"}"""
needs_machines = pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd")
needs_upgrades = pytest.mark.skipif(
    not shutil.which("unattended-upgrade"), reason="unattended-upgrades is not installed"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A node that knows one repository of security patches, with newer versions of all that it has."""
    directory = tmp_path_factory.mktemp("patches")
    stand_ins = write_stand_ins(directory / "stand-ins")
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    build_package(stand_ins, f"linux-image-{release}", "6.1.1-1")
    build_package(stand_ins, "linux-image-amd64", "6.1.1-1", depends=f"linux-image-{release}")
    build_package(stand_ins, "harmless", "1.0-1")
    index_repository(stand_ins)
    patches = directory / "patches"
    patches.mkdir()
    build_package(patches, "linux-image-9.9.9-amd64", "9.9.9-1")
    build_package(patches, "linux-image-amd64", "9.9.9-1", depends="linux-image-9.9.9-amd64")
    build_package(patches, "containerd", "1.6.99-1", unit="containerd.service")
    build_package(patches, "harmless", "1.0-2")
    security = {"Origin": "Debian", "Label": "Debian-Security", "Codename": "bookworm-security"}
    index_repository(patches, **security)
    setup = "dpkg --force-all --purge containerd chrony prometheus-node-exporter >/dev/null 2>&1 || true\n"
    with segment() as wires:
        made = machine_site(directory / "site", wires, setup=setup, software=SOFTWARE)
        node = made.machines["lab-1"]
        node.put("/srv/stand-ins", stand_ins)
        node.run("echo 'deb [trusted=yes] file:/srv/stand-ins ./' > /etc/apt/sources.list; apt-get --quiet update")
        node.run(f"apt-get install --assume-yes linux-image-{release} linux-image-amd64 harmless")
        yield made, node, patches  # type: ignore[misc]  # unpacked by the fixtures below


@pytest.fixture(scope="module")
def deployed(site: Any) -> tuple[MachineSite, Machine, str]:
    """The node after one run of the software phase, and what the dry run before it had announced."""
    made, node, patches = site
    dry = made.pyinfra("--dry", "--diff", "inventory/nodes.py", "deploys/software.py")
    assert dry.code == 0, dry.text
    done = made.deploy("software")
    assert done.code == 0, done.text
    assert {"Kernel settings in force", "Kernel stays", "Patch settings", "Patch timers"} <= done.changed
    node.put("/srv/patches", patches)
    return made, node, dry.text


@needs_machines
def test_settings_are_in_force_and_in_the_file_for_the_next_boot(deployed: tuple[MachineSite, Machine, str]) -> None:
    _, node, _ = deployed
    assert node.run("sysctl --values net.ipv4.ip_forward net.ipv4.tcp_rmem").stdout == "1\n4096\t131072\t6291456\n"
    assert "net.ipv4.ip_forward = 1\n" in node.run("cat /etc/sysctl.d/90-metalwright.conf").stdout


@needs_machines
def test_the_dry_run_shows_what_the_run_made(deployed: tuple[MachineSite, Machine, str]) -> None:
    _, _, shown = deployed
    assert "net.ipv4.ip_forward: 0 → 1" in shown
    assert "+net.ipv4.ip_forward = 1" in shown
    assert "package linux-image-amd64: not on hold → on hold" in shown
    assert "service apt-daily-upgrade.timer" in shown


@needs_machines
def test_a_setting_that_somebody_changed_is_put_back_and_nothing_else(
    deployed: tuple[MachineSite, Machine, str],
) -> None:
    made, node, _ = deployed
    node.run("sysctl -w net.ipv4.ip_forward=0; systemctl mask --now apt-daily.timer")
    done = made.deploy("software")
    assert done.changed == {"Kernel settings in force", "Patch timers"}, done.text
    assert node.run("systemctl is-active apt-daily.timer").stdout == "active\n"


@needs_machines
def test_no_other_kernel_is_taken_by_any_upgrade(deployed: tuple[MachineSite, Machine, str]) -> None:
    _, node, _ = deployed
    node.run("echo 'deb [trusted=yes] file:/srv/patches ./' >> /etc/apt/sources.list; apt-get --quiet update")
    upgrade = node.run("apt-get --simulate dist-upgrade").stdout
    assert "Inst harmless" in upgrade
    assert "Inst linux" not in upgrade
    assert "Inst containerd" not in upgrade
    assert node.run("apt-get --simulate install linux-image-9.9.9-amd64", check=False).returncode != 0


@needs_machines
@needs_upgrades
def test_patches_leave_what_is_pinned(deployed: tuple[MachineSite, Machine, str]) -> None:
    """The same with neither holds nor pins: the settings of unattended-upgrades alone keep kernel and runtime."""
    _, node, _ = deployed
    node.run("rm -f /etc/apt/preferences.d/*; apt-mark unhold containerd 'linux-image-*'")
    node.run("echo 'deb [trusted=yes] file:/srv/patches ./' > /etc/apt/sources.list.d/patches.list")
    done = node.run("apt-get --quiet update >&2; unattended-upgrade --dry-run --verbose 2>&1")
    assert "Packages that will be upgraded: harmless\n" in done.stdout + "\n", done.stdout


def test_a_setting_that_the_kernel_does_not_have_fails_the_host_before_anything_is_changed() -> None:
    (command,), _ = commands_of(settings, {"Sysctls": {"vm.none": None}}, wanted={"vm.none": "1"}, path="/x")
    with pytest.raises(DeployError, match="this kernel has no setting"):
        run_function(command, {})


def test_a_machine_without_governors_is_told_and_not_passed_over() -> None:
    (command,), _ = commands_of(governor, {"Governors": ()}, wanted="performance", unit="g.service")
    with pytest.raises(DeployError, match="offers no CPU governor"):
        run_function(command, {})


def test_one_cpu_with_another_governor_is_a_difference() -> None:
    facts = {"Governors": ("performance", "powersave")}
    assert len(commands_of(governor, facts, wanted="performance", unit="g.service")[0]) == 1
    facts = {"Governors": ("performance", "performance")}
    assert commands_of(governor, facts, wanted="performance", unit="g.service")[0] == []


def test_a_governor_that_is_no_longer_wanted_loses_its_unit() -> None:
    facts: dict[str, Any] = {"FileStates": {"/etc/systemd/system/g.service": {}}}
    (command,), _ = commands_of(governor, facts, wanted=None, unit="g.service")
    assert "rm /etc/systemd/system/g.service" in command
    assert commands_of(governor, {"FileStates": {}}, wanted=None, unit="g.service")[0] == []


def test_the_kernel_file_is_written_for_the_release_that_runs() -> None:
    facts: dict[str, Any] = {"KernelPackages": {"release": "6.1.0-1", "packages": {"linux-image-6.1.0-1": True}}}
    file = {"path": "/p", "text": "^linux-.*@KERNEL_RELEASE@$\n", "mode": "644"}
    (command,), _ = commands_of(kept, facts | {"FileStates": {}}, preferences=file)
    assert command.startswith(": write /p;")


def test_facts_of_the_kernel_tell_an_answer_from_silence() -> None:
    assert KernelPackages().process(["kernel:linux-image-1|hi ", "kernel:gone|rc ", "release:1"]) == {
        "release": "1",
        "packages": {"linux-image-1": True},
    }
    assert Sysctls().process(["hello", "set:a.b=1\t2", "unset:c.d"]) == {"a.b": "1 2", "c.d": None}
    assert Governors().process(["governors:"]) == ()
    for fact in (KernelPackages, Sysctls, Governors):
        with pytest.raises(FactProcessError):
            fact().process(["Welcome"])
