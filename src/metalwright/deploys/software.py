"""The software phase: from a bare image to the blueprint's operating system."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.acceptance.expectations import BASE_UNITS
from metalwright.deploys.accelerator import accelerator
from metalwright.deploys.access import access
from metalwright.deploys.audit import audit
from metalwright.deploys.firewall import firewall
from metalwright.deploys.kernel import kernel
from metalwright.deploys.labels import labels
from metalwright.deploys.monitoring import monitoring
from metalwright.deploys.networks import networks
from metalwright.deploys.packages import package_sources, packages
from metalwright.deploys.patches import patches
from metalwright.deploys.runtime import images, runtime
from metalwright.deploys.time import time_synchronisation
from metalwright.operations.preflight import deployed_node
from metalwright.operations.systemd import running


@deploy("Software", data_defaults={"package_pins": [], "image_os": "debian-12"})
def software() -> None:
    """All of it, in order; a second run changes nothing."""
    deployed_node(name="The right system, as root", node=host.data.node, image_os=host.data.image_os)
    package_sources()
    kernel()
    accelerator()
    packages()
    runtime()
    patches()
    time_synchronisation()
    access()
    audit()
    monitoring()
    labels()
    networks()
    firewall()
    units = [pin["unit"] for pin in host.data.package_pins if pin["unit"] is not None]
    running(name="Services", units=[*BASE_UNITS, *units])
    images()
