"""GPUs: driver, fabric manager, container toolkit, DCGM, and the policy that is put in force at every boot."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import accelerator_files, surplus_accelerator_files
from metalwright.operations.accelerator import driver_loaded, driver_packages
from metalwright.operations.files import absent, rendered
from metalwright.operations.gpu_policy import gpu_policy, gpu_units


@deploy("Accelerator", data_defaults={"accelerator": None, "allow_downgrade": False})
def accelerator() -> None:
    """NVIDIA's or AMD's stack as the blueprint pins it; a node without GPUs has nothing of it.

    Files come first, so that no rival module takes the GPUs and apt knows the pins when it installs. When the blueprint
    drops its accelerator, service and files go; packages stay installed and on hold.
    """
    setup = host.data.accelerator
    rendered(name="Modules, pins and policy of GPUs", files=rendered_files(accelerator_files(setup)))
    driver_packages(name="Driver packages", setup=setup, allow_downgrade=host.data.allow_downgrade)
    driver_loaded(name="Driver in force", setup=setup)
    gpu_units(name="Services of GPUs", setup=setup)
    gpu_policy(name="Policy of GPUs", setup=setup)
    absent(
        name="Files of GPUs that are not declared",
        paths=surplus_accelerator_files(setup),
        afterwards="systemctl daemon-reload && udevadm control --reload 2>/dev/null || true",
    )
