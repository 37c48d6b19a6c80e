"""The nodes of a site as files of their schedulers, rendered from the site's own templates: same inputs, same bytes."""

from __future__ import annotations

from metalwright.loading import SitePaths
from metalwright.model.repository import SiteRepository
from metalwright.templates import render
from metalwright.topology import SERVING_STATES, leaf_groups, node_labels, scheduler_nodes

FILES = {
    "kubernetes/labels.sh": "kubernetes-labels.sh.j2",
    "slurm/nodes.conf": "slurm-nodes.conf.j2",
    "slurm/gres.conf": "slurm-gres.conf.j2",
    "slurm/topology.conf": "slurm-topology.conf.j2",
}


def export_orchestration(paths: SitePaths, repository: SiteRepository, *, by_fqdn: bool = True) -> dict[str, str]:
    """Path → text of every file; ``by_fqdn``: Kubernetes knows nodes by their whole names.

    Raises LoadingError: a template is missing or broken.
    """
    nodes = scheduler_nodes(repository)
    domain = repository.site.domain
    labelled = [
        {"name": f"{node.name}.{domain}" if by_fqdn else node.name, "labels": node_labels(repository, node)}
        for node in sorted(repository.nodes(), key=lambda node: node.name)
        if node.state in SERVING_STATES
    ]
    shared = {"site": repository.site.name, "by_fqdn": by_fqdn}
    values = {
        "kubernetes/labels.sh": {**shared, "nodes": labelled},
        "slurm/nodes.conf": {**shared, "nodes": nodes},
        "slurm/gres.conf": {**shared, "nodes": nodes},
        "slurm/topology.conf": {**shared, "groups": leaf_groups(nodes)},
    }
    return {path: render(paths.templates, f"orchestrator/{template}", values[path]) for path, template in FILES.items()}
