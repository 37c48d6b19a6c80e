"""Container images of a node."""

from __future__ import annotations

from pyinfra.api.exceptions import FactProcessError

from metalwright.facts.answers import NodeFact, all_marked

LIST = {
    "containerd": "ctr --namespace k8s.io images list --quiet",
    "docker": "docker images --digests --format '{{.Repository}}@{{.Digest}}'",
}


class PulledImages(NodeFact[tuple[str, ...]]):
    """``name@digest`` of each image in the store of the runtime."""

    def command(self, runtime: str) -> str:
        """Marked lines; the closing line stands only where the runtime has answered."""
        return f"list=$({LIST[runtime]}) && echo \"$list\" | sed 's/^/image:/' && echo images-end"

    def process(self, output: list[str]) -> tuple[str, ...]:
        """Docker leaves ``docker.io/`` out; it is put back."""
        if "images-end" not in output:
            raise FactProcessError(f"the container runtime gave no answer: {output[-3:]}")
        return tuple(_whole(name) for name in all_marked(output, "image:") if "@sha256:" in name)


def _whole(name: str) -> str:
    first, has_path, _ = name.partition("/")
    if has_path and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if has_path else f"docker.io/library/{name}"
