"""The container runtime: configuration, mirrors, the runtime of the GPUs, and images that are there beforehand."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import runtime_files
from metalwright.operations.files import rendered
from metalwright.operations.images import pulled


@deploy("Container runtime", data_defaults={"container_runtime": None, "gpu_runtime": None})
def runtime() -> None:
    """containerd (configuration of its own major version) or Docker: systemd's cgroups, mirrors, the GPU runtime.

    It is restarted where its settings changed; containers of containerd live on meanwhile.
    """
    wanted = host.data.container_runtime
    files = list(runtime_files(wanted, host.data.gpu_runtime))
    settings = rendered(name="Settings of the container runtime", files=rendered_files(files))
    unit = wanted["name"] if wanted else "containerd"
    server.shell(
        name="The container runtime reads its settings",
        commands=[f"systemctl restart {unit}.service"],
        _if=settings.did_change,
    )


@deploy("Container images", data_defaults={"container_runtime": None})
def images() -> None:
    """Every image that the blueprint names is on the node, by digest."""
    wanted = host.data.container_runtime or {"name": "containerd", "images": []}
    pulled(name="Container images", runtime=wanted["name"], images=wanted["images"])
