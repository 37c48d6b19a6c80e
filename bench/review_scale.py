"""How long a big site takes: ``check``, ``review`` of one changed line, and the pure part of ``plan``.

``python -m bench.review_scale [NODES…]`` (default 1000 10000). Each figure is measured in a process of its own: seconds
of processor time, seconds on the clock, and the largest resident size. Prints JSON. Targets on two idle cores at 10,000
nodes: check 3 s, review 2 s, plan 10 s and 500 MB.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.fleet_site import make_fleet, node_name

VERSIONS = 200
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.net")


def main(arguments: list[str]) -> int:
    """Measure each size, or (with ``--plan ROOT``) one plan in this process."""
    if arguments[:1] == ["--plan"]:
        return _plan(Path(arguments[1]))
    results = [_measure(int(nodes)) for nodes in arguments or ("1000", "10000")]
    print(json.dumps({"versions": VERSIONS, "sizes": results}, indent=2))
    return 0


def _measure(nodes: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="metalwright-bench-") as directory:
        root = Path(directory) / "site"
        make_site(root, nodes)
        command = [sys.executable, "-m", "metalwright.cli", "--site", str(root)]
        return {
            "nodes": nodes,
            "check": _timed([*command, "check"]),
            "review": _timed([*command, "review", "HEAD~1..HEAD"]),
            "plan": _timed([sys.executable, "-m", "bench.review_scale", "--plan", str(root)]),
        }


def make_site(root: Path, nodes: int) -> None:
    """A site under git whose last commit moves one node to another version."""
    make_fleet(root, nodes, VERSIONS)
    _git(root, "init", "-qb", "main")
    _commit(root)
    rack = root / "inventory/racks/r0000.yaml"
    text = rack.read_text(encoding="utf-8")
    rack.write_text(text.replace("class-00@1.9.0", "class-00@1.8.0", 1), encoding="utf-8")
    _commit(root)


def _plan(root: Path) -> int:
    """Load the site, observe every node as one whose BIOS differs, and write the plan: everything but the network."""
    from metalwright import __version__
    from metalwright.lifecycle.observations import AttributeChange, BiosObservation
    from metalwright.loading import load_site
    from metalwright.model.digests import canonical_json, recipe_digest
    from metalwright.model.phase import Phase
    from metalwright.planning import Desired, make_plan, network_inputs, place_inputs, plan_node, shared_inputs

    repository = load_site(root)
    shared = shared_inputs(repository)
    seen = {Phase.BIOS: BiosObservation("r", to_write=(AttributeChange("NUMA", "Off", "On"),)).changes()}
    desired = []
    for node in repository.nodes():
        blueprint, addresses = repository.blueprint_of(node.name), repository.addresses.of_node(node.name)
        place, networks = place_inputs(repository.rack_of(node.name)), network_inputs(repository, node)
        own = {"node": node.recipe_inputs(), "addresses": addresses, "place": place, "networks": networks}
        inputs = {**own, **shared}
        recipe = recipe_digest(blueprint, inputs, repository.tree_digest, __version__)
        desired.append(Desired(node, blueprint, recipe, addresses, f"D-{node.name}", place, networks, shared))
    plan = make_plan(desired, [plan_node(item, seen, {}) for item in desired])
    (root / "plan.json").write_bytes(canonical_json(plan))
    assert plan.nodes[0].node == node_name(0)
    return 0


def _timed(command: list[str]) -> dict[str, float]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 2):
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu_s": round(cpu_s, 2),
        "clock_s": round(time.monotonic() - begun, 2),
        "largest_child_mib": round(after.ru_maxrss / 1024),
    }


def _commit(root: Path) -> None:
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "state")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run([*GIT, "-C", str(root), *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
