"""AMD's stack on a real system, with stand-ins of its packages: the same deploy, the same promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.failures.machine_site import BARE
from tests.failures.test_drivers_machine import deploy, ours
from tests.machines import can_run_machines, segment
from tests.machines.gpu_packages import HARDWARE, write_amd_packages
from tests.machines.site import machine_site

from metalwright.node_files import ACCELERATOR_FILES

pytestmark = [
    pytest.mark.skipif(not can_run_machines(), reason="machines of namespaces need root, systemd and sshd"),
    pytest.mark.long,
]
NOT_NVIDIA = "mkdir -p /etc/modprobe.d && echo 'blacklist nouveau' > /etc/modprobe.d/stand-in.conf\n"


def test_an_mi300x_node_gets_its_driver_its_power_cap_and_its_devices_for_containers(tmp_path: Path) -> None:
    stand_ins = tmp_path / "stand-ins"
    stand_ins.mkdir()
    write_amd_packages(stand_ins)
    setup = BARE + HARDWARE + NOT_NVIDIA
    with segment() as wires:
        site = machine_site(tmp_path / "site", wires, blueprint="gpu-mi300x-8x@1.1.0", setup=setup)
        node = site.machines["lab-1"]
        node.put("/srv/stand-ins", stand_ins)
        text = (site.root / "blueprints/gpu-mi300x-8x/1.0.0.yaml").read_text()
        text = text.replace("version: 1.0.0", "version: 1.1.0", 1).replace("power_cap_w: 750", "power_cap_w: 700")
        text = text.replace("[host-management, workload, storage]", "[host-management]").replace(
            "mtu: 9000", "mtu: 1500"
        )
        (site.root / "blueprints/gpu-mi300x-8x/1.1.0.yaml").write_text(text)
        done = deploy(site)
        assert done.code == 0, done.text
        assert ours(done) == [
            "Modules, pins and policy of GPUs", "Driver packages", "Driver in force", "Policy of GPUs"
        ]  # fmt: skip
        assert node.run("cat /sys/module/amdgpu/version").stdout == "6.12.12\n"
        assert '"Max Graphics Package Power (W)": "700.0"' in node.run("rocm-smi").stdout
        assert {"amdgpu-dkms", "rocm-core", "amd-container-toolkit"} <= set(
            node.run("apt-mark showhold").stdout.split()
        )
        assert "amd.com/gpu" in node.run("cat /var/run/cdi/amd.json").stdout
        assert 'GROUP="render"' in node.run("cat /etc/udev/rules.d/70-metalwright-amdgpu.rules").stdout
        again = deploy(site)
        assert (again.code, again.changed) == (0, set()), again.text

        dropped = re.sub(r"(?m)^  accelerator:.*\n(    .*\n)*", "", text)
        assert dropped != text
        (site.root / "blueprints/gpu-mi300x-8x/1.1.0.yaml").write_text(dropped)
        shown = site.pyinfra("--dry", "--diff", "inventory/nodes.py", "deploys/gpus.py").text
        assert "policy of GPUs: set at every boot → none" in shown
        assert "file /usr/local/bin/rocm-smi: there → absent" in shown
        done = deploy(site)
        assert done.code == 0, done.text
        assert {"Policy of GPUs", "Files of GPUs that are not declared"} <= done.changed
        left = node.run(f"ls {' '.join(ACCELERATOR_FILES)} 2>/dev/null", check=False)
        assert left.stdout == ""
        assert node.run("systemctl is-enabled metalwright-gpu.service", check=False).returncode != 0
        assert deploy(site).changed == set()
