"""Labels of the node, for schedulers and for programs on it."""

from __future__ import annotations

from pyinfra import host
from pyinfra.api import deploy

from metalwright.deploys.rendering import rendered_files
from metalwright.node_files import label_files
from metalwright.operations.files import rendered


@deploy("Labels", data_defaults={"labels": {}})
def labels() -> None:
    """``/etc/metalwright/labels`` and ``/etc/metalwright/kubelet.env``: rack, leaf, class, the blueprint's labels."""
    rendered(name="Labels", files=rendered_files(label_files(host.data.labels)))
