"""The accelerator deploy on a real system: systemd, dpkg, apt and sshd of a machine, with stand-ins of GPU packages."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.failures.machine_site import BARE, write_stand_ins
from tests.machines import Machine, can_run_machines, segment
from tests.machines.gpu_packages import DRIVER, HARDWARE, KERNEL, LIBRARY, NEWER_KERNEL, OLD_DRIVER, write_gpu_packages
from tests.machines.packages import index_repository
from tests.machines.site import MachineSite, machine_site
from tests.operations.redfish.site import PyinfraRun

from metalwright.model.node_paths import RESTART_REASONS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
]
BLUEPRINT = """schema: 1
name: gpu-node
version: 1.0.0
class: {{role: training, owner: infra, workloads: [training]}}
hardware:
  system: {{manufacturer: QEMU, models: [Standard PC]}}
  cpus: {{count: 1}}
  memory: {{total_gib: 1}}
  gpus: {{count: 8, vendor: nvidia, model: H100 SXM 80GB}}
  nics: [{{role: host, count: 1}}]
  drives: [{{role: system, count: 1, min_bytes: 1000000000}}]
network: [{{role: host, networks: [host-management]}}]
image: {{name: debian-12, version: "1", file_sha256: {digest}}}
software:
  accelerator:
    {{vendor: nvidia, driver: {driver}, fabric_manager: true, container_toolkit: 1.18.0, dcgm: 4.4.1, cuda: "13.0"}}
security: {{patches: none}}
policy: {{power_cap_w: {cap}, mig: {mig}}}
acceptance: [{{test: nccl-all-reduce, floor: 440, unit: GB/s}}]
"""
OPERATIONS = [
    "Modules, pins and policy of GPUs", "Driver packages", "Driver in force", "Services of GPUs", "Policy of GPUs"
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineSite]:
    """A fresh node whose kernel has loaded nouveau; the tests go on from one another, in order."""
    directory = tmp_path_factory.mktemp("gpus")
    stand_ins = write_stand_ins(directory / "stand-ins")
    write_gpu_packages(stand_ins, index=False)
    index_repository(stand_ins)
    with segment() as wires:
        made = machine_site(directory / "site", wires, blueprint="gpu-node@1.0.0", setup=BARE + HARDWARE)
        made.machines["lab-1"].put("/srv/stand-ins", stand_ins)
        yield made


@pytest.fixture
def node(site: MachineSite) -> Machine:
    return site.machines["lab-1"]


def write_blueprint(site: MachineSite, driver: str = DRIVER, cap: int = 700, mig: str = "disabled") -> None:
    path = site.root / "blueprints/gpu-node/1.0.0.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(BLUEPRINT.format(digest="0" * 64, driver=driver, cap=cap, mig=mig))


def deploy(site: MachineSite) -> PyinfraRun:
    """The accelerator's part of the software phase alone."""
    site.write_deploy(
        "gpus",
        "from metalwright.deploys.accelerator import accelerator\n"
        "from metalwright.deploys.packages import package_sources\n\npackage_sources()\naccelerator()\n",
    )
    return site.deploy("gpus")


def ours(done: PyinfraRun) -> list[str]:
    """Operations of the accelerator that changed something."""
    return [name for name in OPERATIONS if name in done.changed]


def previewed(site: MachineSite) -> list[str]:
    """Operations of the accelerator that a dry run announces."""
    told = site.pyinfra("--dry", "--json", "inventory/nodes.py", "deploys/software.py").stdout
    plan = json.loads(told.strip().splitlines()[-1])["plan"]
    names = {item["name"].split(" | ")[-1] for item in plan if item["hosts_with_change"]}
    return [name for name in OPERATIONS if name in names]


def restart(node: Machine) -> None:
    """What the runner does: a restart through the system itself."""
    node.run("systemctl reboot", check=False)
    node.wait_until_off()
    node.boot()
    node.run("systemctl start multi-user.target; sleep 3")  # all that is enabled, and until services count as settled


def waits(node: Machine) -> list[str]:
    return node.run(f"cat {RESTART_REASONS}", check=False).stdout.splitlines()


def test_a_fresh_node_gets_the_stack_and_waits_for_a_restart(site: MachineSite, node: Machine) -> None:
    write_blueprint(site)
    preview = previewed(site)
    done = site.deploy("software")
    assert done.code == 0, done.text
    assert preview == ours(done) == OPERATIONS[:3]
    assert waits(node) == ["the module nouveau holds the GPUs"]
    assert node.run("systemctl is-active nvidia-fabricmanager.service", check=False).stdout.strip() == "inactive"
    again = site.deploy("software")
    assert (again.code, ours(again)) == (0, [])


def test_after_the_restart_everything_is_in_force_and_a_further_run_changes_nothing(
    site: MachineSite, node: Machine
) -> None:
    restart(node)
    preview = previewed(site)
    done = site.deploy("software")
    assert done.code == 0, done.text
    assert preview == ours(done) == OPERATIONS[3:]
    assert waits(node) == []
    units = "nvidia-persistenced nvidia-fabricmanager nvidia-dcgm metalwright-gpu"
    assert node.run(f"systemctl is-active {units}").stdout.split() == ["active"] * 4
    assert node.run("cat /sys/module/nvidia/version").stdout.strip() == DRIVER
    again = site.deploy("software")
    assert (again.code, again.changed) == (0, set()), again.text


def test_dr_01_the_driver_is_held_with_every_library_that_carries_its_version(site: MachineSite, node: Machine) -> None:
    """Pins and holds all packages of the driver's version, so that no upgrade moves a library away from the module."""
    held = set(node.run("apt-mark showhold").stdout.split())
    assert {
        "libcuda1",
        "libnvidia-ml1",
        "nvidia-driver-cuda",
        "nvidia-kernel-open-dkms",
        "nvidia-fabricmanager",
    } <= held
    node.run("apt-mark unhold libcuda1")
    done = deploy(site)
    assert (done.code, ours(done)) == (0, ["Driver packages"])
    assert "libcuda1" in node.run("apt-mark showhold").stdout.split()
    candidate = node.run("apt-cache policy nvidia-driver-cuda").stdout
    assert f"Candidate: {DRIVER}-1" in candidate


def test_dr_07_a_specification_that_names_missing_files_is_written_again(site: MachineSite, node: Machine) -> None:
    """Checks that each file which the CDI specification names is there, and writes it again when one is not."""
    node.run(f"sed -i 's|so[.]{DRIVER}|so.{OLD_DRIVER}|' /var/run/cdi/nvidia.yaml")
    done = deploy(site)
    assert (done.code, ours(done)) == (0, ["Policy of GPUs"]), done.text
    assert f"hostPath: {LIBRARY}.{DRIVER}" in node.run("cat /var/run/cdi/nvidia.yaml").stdout


def test_a_power_cap_is_applied_now_and_at_every_boot(site: MachineSite, node: Machine) -> None:
    write_blueprint(site, cap=650)
    done = deploy(site)
    assert done.code == 0, done.text
    assert ours(done) == ["Modules, pins and policy of GPUs", "Policy of GPUs"]
    assert "<current_power_limit>650" in node.run("nvidia-smi -q -x").stdout
    restart(node)
    assert "<current_power_limit>650" in node.run("nvidia-smi -q -x").stdout
    assert deploy(site).changed == set()


def test_dr_09_mig_counts_only_when_it_is_in_force_on_every_gpu(site: MachineSite, node: Machine) -> None:
    """MIG that is pending asks for a restart; it is done when the current and the pending mode are the wanted one."""
    write_blueprint(site, cap=650, mig="enabled")
    done = deploy(site)
    assert done.code == 0, done.text
    assert waits(node) == ["MIG waits for a reset of the GPUs"]
    assert (
        "<current_mig>Disabled</current_mig><pending_mig>Enabled</pending_mig>" in node.run("nvidia-smi -q -x").stdout
    )
    assert ours(deploy(site)) == []
    restart(node)
    assert (deploy(site).changed, waits(node)) == (set(), [])


def test_dr_06_a_kernel_that_will_boot_without_the_module_stops_the_node_before_its_restart(
    site: MachineSite, node: Machine
) -> None:
    """Builds the module for the kernel that boots next, with its headers; without them nothing is restarted.

    Kernels are kept by apt's preferences; this one came in past them.
    """
    node.run("rm -f /etc/apt/preferences.d/metalwright-kernel")
    node.run(f"touch /boot/vmlinuz-{NEWER_KERNEL}; mv /srv/stand-ins/linux-headers-{NEWER_KERNEL}* /root/")
    node.run("cd /srv/stand-ins && dpkg-scanpackages --multiversion . > Packages 2>/dev/null && rm Release")
    failed = deploy(site)
    assert failed.code != 0
    assert waits(node) == []
    node.run(
        "mv /root/linux-headers-* /srv/stand-ins/ && cd /srv/stand-ins && dpkg-scanpackages --multiversion . > Packages"
    )
    done = deploy(site)
    assert done.code == 0, done.text
    assert f"nvidia/{DRIVER}, {NEWER_KERNEL}, x86_64: installed" in node.run("dkms status").stdout
    assert waits(node) == [f"kernel {KERNEL} runs, {NEWER_KERNEL} will boot"]
    restart(node)
    assert deploy(site).changed == set()


def test_dr_01_another_version_of_the_driver_waits_for_a_restart(site: MachineSite, node: Machine) -> None:
    """A new driver beside the loaded module is told as what it is, and the services stay down until the restart."""
    node.run(f"echo {OLD_DRIVER} > /sys/module/nvidia/version")
    done = deploy(site)
    assert done.code == 0, done.text
    assert ours(done) == ["Driver in force"]
    assert waits(node) == [f"nvidia {OLD_DRIVER} is loaded, {DRIVER} is installed"]


def test_dr_05_a_module_whose_signature_is_refused_is_said_in_the_kernel_s_words(
    site: MachineSite, node: Machine
) -> None:
    """A module that the kernel does not take fails the node with the reason, though its packages are installed."""
    restart(node)
    node.run("touch /etc/stand-in/rejected && rm -r /sys/module/nvidia")
    done = deploy(site)
    node.run("rm /etc/stand-in/rejected")
    assert done.code != 0
    assert "Key was rejected by service" in done.text
    assert deploy(site).code == 0
