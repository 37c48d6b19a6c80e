"""Container images that are there before a workload asks for them, by digest."""

from __future__ import annotations

from collections.abc import Sequence

from pyinfra import host
from pyinfra.api import QuoteString, StringCommand

from metalwright.facts.images import PulledImages
from metalwright.operations.differences import line, show_diff
from metalwright.operations.failure import Commands, answer, node_operation

PULL = {
    "containerd": "ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d",
    "docker": "docker pull --quiet",
}


@node_operation
def pulled(runtime: str, images: Sequence[str]) -> Commands:
    """Every one of ``images`` (``registry/name@sha256:…``) is in the store of the runtime; those of others stay."""
    found = answer(PulledImages, runtime=runtime) if images else ()
    missing = [image for image in images if image not in found]
    show_diff(line(f"image {image}", "absent", "there") for image in missing)
    for image in missing:
        yield StringCommand(PULL[runtime], QuoteString(image), "> /dev/null")
    if not missing:
        host.noop("all images are there")
